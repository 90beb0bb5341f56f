"""A refresh of an edition: its evidence asked for anew where it is too old, and read again only where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from assets import episodes, repositories
from assets.episodes import Item
from assets.workplace import Workplace
from pipeline.database import INFRASTRUCTURE
from pipeline.evidence import WEB_LEADS, Outcome, Receipt


def begin(work: Workplace, days: float | None = None) -> None:
    """Let a build ask again what was last answered more than `days` ago (default: half the age that a freeze allows).

    Answers of this refresh stand in it. A world that answers otherwise than before is the same world of a refreshed
    edition, as a live service is: what changed shows in what its tools find, paper by paper.
    """
    from pipeline.sources.ages import AgeRule

    older_than = timedelta(days=work.edition.max_receipt_age_days / 2 if days is None else days)
    work.mode, work.ages = "refresh", AgeRule(older_than=older_than, began=work.clock.now())
    work.continue_world()


@dataclass(frozen=True, kw_only=True, slots=True)
class Renewed:
    """What a refresh found. `changed`: papers to read again; `open`: places that were gone or silent just now, whose
    earlier evidence stands for the time being."""

    changed: tuple[Item, ...]
    open: tuple[str, ...]


def renew(work: Workplace, items: Sequence[Item]) -> Renewed:
    """Call every tool of the recorded episodes again. An episode whose receipts all come back stands, and they are as
    fresh as their newest sighting; one with another receipt has to be run again.

    What is gone is so at the second look, a day apart: at once in an offline world, by a later refresh elsewhere.
    """
    found = _look(work, items)
    if work.offline and any(open_ for _, open_ in found.values()):
        work.clock.sleep(work.edition.second_look_hours * 3600 + 60)
        found |= _look(work, [i for i in items if found.get(i.key, (False, []))[1]])
    changed = tuple(i for i in items if found.get(i.key, (False, []))[0])
    open_ = tuple(sorted({subject for _, subjects in found.values() for subject in subjects}))
    if open_:
        hours = work.edition.second_look_hours
        work.say(
            f"refresh: {len(open_)} places gave no settled answer ({', '.join(open_[:5])}); their evidence stands as "
            f"it was; refresh again in {hours:g} hours"
        )
    work.say(f"refresh: the evidence of {len(found)} papers was asked for, that of {len(changed)} changed")
    return Renewed(changed=changed, open=open_)


def _look(work: Workplace, items: Sequence[Item]) -> dict[str, tuple[bool, list[str]]]:
    """Of each item with an episode, by its key: whether its evidence changed, and what stayed open."""
    recorder, tokens = work.recorder(), repositories.tokens(work)
    read = [(item, episode) for item in items if (episode := episodes.recorded(work, item)) is not None]

    def one(item: Item, receipts: Sequence[Receipt]) -> tuple[bool, list[str]]:
        from pipeline.sources.replay import no_call

        asked = [r for r in receipts if r.exchanges and r.subject != WEB_LEADS and not no_call(r)]
        if not asked:
            return False, []
        probes = episodes.probes(work, item, recorder, tokens)
        changed, open_ = False, []
        for then in asked:
            try:
                now = probes.call(then.tool, dict(then.arguments)).receipt
            except INFRASTRUCTURE:
                raise
            except Exception:  # a tool that breaks on today's answer: its episode says how
                changed = True
                continue
            if now.outcome is Outcome.UNDETERMINED and then.outcome is not Outcome.UNDETERMINED:
                open_.append(then.subject)  # an answer that cannot be had now changes nothing
            else:
                changed = changed or now.id != then.id
        return changed, open_

    with ThreadPoolExecutor(episodes.CONCURRENCY) as pool:
        ends = pool.map(lambda pair: one(pair[0], pair[1].receipts), read)
        return {item.key: end for (item, _), end in zip(read, ends, strict=True)}
