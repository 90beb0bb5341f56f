"""Arbitrary hosts, answered from their routes; an explicit route also goes before a service's own answer."""

from urllib.parse import parse_qsl

from pipeline.offline.content import Content, Held, Stored, Synthesised, media_type
from pipeline.offline.values import RouteFacts, Site, World
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault


def route_of(world: World, call: Call) -> RouteFacts | None:
    """The route told for exactly this call; one that names the query goes first, then one that names the method."""
    site = world.sites.get(call.host)
    if site is None:
        return None
    asked = sorted(call.query)

    def fits(route: RouteFacts) -> bool:
        path, _, query = route.path.partition("?")
        told = sorted(parse_qsl(query, keep_blank_values=True))
        return path == call.path and route.method in {None, call.method} and (not query or told == asked)

    return max(filter(fits, site.facts.route), key=lambda r: ("?" in r.path, r.method is not None), default=None)


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    site = world.sites.get(call.host)
    if site is None:
        return UNREACHABLE
    route = route_of(world, call)
    if route is None:
        route = site.facts.default
        fallback = 200 if site.facts.default.soft404 else 404
    else:
        fallback = 302 if route.location else 200
    if site.facts.default.fault and route is site.facts.default:
        return Fault(site.facts.default.fault)
    if told := failures.due(f"site {call.host} {route.path}", route.fail_first):
        if told.fault:
            return Fault(told.fault)
        wait = (("Retry-After", str(told.retry_after)),) if told.retry_after is not None else ()
        return Answer(told.status, Held(b"try again later\n"), (("Content-Type", "text/plain"), *wait))
    if route.fault:
        return Fault(route.fault)
    status = route.status or fallback
    content, told_type = _content(site, route, status)
    headers = [("Content-Type", route.content_type or told_type)]
    headers += [("Location", route.location)] if route.location else []
    headers += list(route.headers.items())
    return Answer(status, content, tuple(headers), ranges=status == 200)


def _content(site: Site, route: RouteFacts, status: int) -> tuple[Content, str]:
    if route.file is not None:
        return Stored.at(site.folder / route.file), media_type(route.file)
    if route.body is not None:
        kind = "application/json" if route.body.lstrip()[:1] in {"{", "["} else "text/html; charset=utf-8"
        return Held(route.body.encode()), kind
    if route.size is not None:
        return Synthesised(f"{site.host}{route.path}", route.size), media_type(route.path.partition("?")[0])
    page = f"<!DOCTYPE html>\n<html><head><title>{site.host}</title></head><body><p>{status}</p></body></html>\n"
    return Held(page.encode()), "text/html; charset=utf-8"
