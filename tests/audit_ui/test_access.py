"""Who may do what, and what hostile papers, pages and posts cannot do."""

from __future__ import annotations

import hashlib
import html
import io
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from assets.cli import main
from assets.ui import secret
from audit_ui.security import COOKIE, DOOR, MAX_POST, BindError, check_binding, inside
from pipeline.accounts import GUESSES, SESSION, AccountError, Accounts, accounts
from pipeline.evidence import Receipt
from pipeline.store import Store
from tests.audit_ui.conftest import PASSWORD, World, build, hidden
from tests.release import made

SCRIPT = "<script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)>"


def first(world: World) -> str:
    return world.papers[0]


def nothing_written(world: World) -> bool:
    return world.site.desk.ledger.entries() == []


def test_no_decision_without_the_sessions_own_token(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    for token in ("", "0" * 64, "ann"):
        fields = ann.fields(paper, "code_available", "yes") | {"csrf": token}
        assert ann.posts(f"/answer/{paper}", fields).status_code == 403
        assert ann.posts("/undo", {"csrf": token, "event": "0" * 64}).status_code == 403
        assert ann.posts(f"/place/{paper}", {"csrf": token, "state": "parked"}).status_code == 403
    assert nothing_written(world)


def test_the_token_of_another_session_is_no_token(world: World) -> None:
    ann, bob, paper = world.person("ann"), world.person("bob"), first(world)
    assert ann.csrf != bob.csrf
    assert (
        ann.posts(f"/answer/{paper}", ann.fields(paper, "code_available", "yes") | {"csrf": bob.csrf}).status_code
        == 403
    )
    assert nothing_written(world)


def test_no_page_but_the_door_without_a_session(world: World) -> None:
    stranger, paper = TestClient(world.app, base_url="http://127.0.0.1"), first(world)
    for path in ("/", f"/paper/{paper}", "/guide", "/agreement", f"/adjudicate/{paper}", "/next", "/calibrate"):
        assert stranger.get(path).url.path == "/login"
    fields = {"csrf": "", "question": "code_available", "value": "yes"}
    assert stranger.post(f"/answer/{paper}", data=fields).url.path == "/login"
    assert nothing_written(world)


def test_nobody_decides_by_a_link(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    for path in (f"/answer/{paper}", "/undo", f"/place/{paper}", f"/recheck/{paper}", "/logout"):
        assert ann.browser.get(path).status_code == 405
    assert nothing_written(world)


def test_a_form_cannot_speak_for_another_person_or_cite_another_papers_receipts(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    foreign = next(r.id for r in world.pool.receipts.values() if r.paper != paper)
    ann.says(paper, "code_available", "yes", who="bob", phase="revised", kind="adjudicate", evidence=[foreign])
    (entry,) = world.site.desk.ledger.entries()
    assert (entry.event.who, entry.event.phase, entry.event.kind, entry.event.evidence) == (
        "ann",
        "blind",
        "answer",
        [],
    )


def test_a_session_that_was_planted_before_login_is_not_the_one_after_it(world: World) -> None:
    world.person("ann")
    planted = world.person("bob").browser.cookies[COOKIE]
    browser = TestClient(world.app, base_url="http://127.0.0.1")
    headers = {"cookie": f"{COOKIE}={planted}"}
    door = browser.get("/login", headers=headers).text
    fields = {"name": "ann", "password": PASSWORD, "csrf": hidden(door, "csrf"), "next": "/"}
    headers["cookie"] += f"; {DOOR}={browser.cookies[DOOR]}"
    browser.post("/login", data=fields, headers=headers, follow_redirects=False)
    assert browser.cookies[COOKIE] != planted
    with_planted = TestClient(world.app, base_url="http://127.0.0.1", cookies={COOKIE: planted})
    assert "bob" in with_planted.get("/").text, "the planted one stays whose it was"


def test_a_login_needs_the_token_of_its_own_door(world: World) -> None:
    world.person("ann")
    browser = TestClient(world.app, base_url="http://127.0.0.1")
    other = TestClient(world.app, base_url="http://127.0.0.1").get("/login").text
    browser.get("/login")
    fields = {"name": "ann", "password": PASSWORD, "csrf": hidden(other, "csrf"), "next": "/"}
    assert browser.post("/login", data=fields).status_code == 403
    assert COOKIE not in browser.cookies


def test_a_cookie_that_was_not_signed_here_is_no_session(world: World) -> None:
    browser = TestClient(world.app, base_url="http://127.0.0.1")
    for forged in ("", "x", "x.y", "../../etc/passwd", "a" * 5000, "é"):
        assert browser.get("/", headers={"cookie": f"{COOKIE}={forged}".encode()}).url.path == "/login"


def test_leaving_ends_the_session_on_this_side_too(world: World) -> None:
    ann = world.person("ann")
    cookie = ann.browser.cookies[COOKIE]
    ann.posts("/logout", {"csrf": ann.csrf}, htmx=False)
    again = TestClient(world.app, base_url="http://127.0.0.1", cookies={COOKIE: cookie})
    assert again.get("/").url.path == "/login"


def test_a_session_is_over_after_its_hours(world: World) -> None:
    ann = world.person("ann")
    world.clock[0] += SESSION + timedelta(minutes=1)
    assert ann.browser.get("/").url.path == "/login"


@pytest.mark.slow
def test_guessing_locks_the_name_for_a_while_even_for_the_right_password(tmp_path: Path) -> None:
    world = build(tmp_path)
    ann = world.person("ann")
    ann.browser.cookies.clear()
    for _ in range(GUESSES):
        assert ann.enter("wrong password").status_code == 403
    locked = ann.enter()
    assert (locked.status_code, "too many wrong passwords" in locked.text.lower()) == (429, True)
    assert world.person("bob").browser.get("/").status_code == 200
    world.clock[0] += timedelta(minutes=16)
    assert ann.enter().status_code == 200


@pytest.mark.slow
def test_a_name_nobody_has_is_refused_in_the_same_words(world: World) -> None:
    ann = world.person("ann")
    nobody = replace(ann, name="nobody", browser=TestClient(world.app, base_url="http://127.0.0.1"))
    ann.browser.cookies.clear()
    text = [re.sub(r'value="[0-9a-f]{64}"', "", person.enter("wrong password").text) for person in (ann, nobody)]
    assert text[0] == text[1]
    assert "do not go together" in text[0]


ELSEWHERE = (
    "//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/paper/../..//evil",
    "/static/x", "/paper//evil.example", "/\tevil", "/login?next=//evil",
)  # fmt: skip


def test_nobody_is_sent_elsewhere_after_login(world: World) -> None:
    ann = world.person("ann")
    browser = TestClient(world.app, base_url="http://127.0.0.1", follow_redirects=False)
    for place in ELSEWHERE:
        assert inside(place) == "/"
        door = browser.get("/login", params={"next": place}).text
        assert hidden(door, "next") == "/"
        fields = {"name": ann.name, "password": PASSWORD, "csrf": hidden(door, "csrf"), "next": place}
        assert browser.post("/login", data=fields).headers["location"] == "/"


def test_after_login_one_is_where_one_wanted_to_be(world: World) -> None:
    assert inside("/paper/2601.00001") == "/paper/2601.00001"
    stranger = TestClient(world.app, base_url="http://127.0.0.1")
    assert hidden(stranger.get("/paper/2601.00001").text, "next") == "/paper/2601.00001"


def test_kept_bodies_are_those_of_this_papers_receipts_and_inert(world: World) -> None:
    ann, (paper, other) = world.person("ann"), world.papers[:2]
    mine = world.pool.receipts[world.row(paper).inputs.receipts[0]]
    data = made.body(int(paper.split(".")[1]), mine.tool, mine.subject)
    sha256 = hashlib.sha256(data).hexdigest()
    shown = ann.browser.get(f"/body/{sha256}/{paper}")
    assert shown.content == data
    assert shown.headers["content-type"].startswith("text/plain")
    assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert ann.browser.get(f"/body/{sha256}/{other}").status_code == 404
    secret = world.given.store.blobs.put(b"another paper's secret")
    assert ann.browser.get(f"/body/{secret}/{paper}").status_code == 404


OUTSIDE = (
    "/body/..%2f..%2faudit-secret/{}", "/body/%2e%2e/{}", "/static/..%2f..%2fpyproject.toml", "/static/../app.py",
    "/static/%2e%2e/site.py", "/static//etc/passwd", "/paper/../../etc/passwd", "/paper/%00",
)  # fmt: skip


def test_no_path_leads_out_of_the_page(world: World) -> None:
    ann = world.person("ann")
    for path in OUTSIDE:
        answer = ann.browser.get(path.format(first(world)))
        assert answer.status_code == 404
        assert "x" * 40 not in answer.text
        assert "root:" not in answer.text


def hostile(tmp_path: Path) -> World:
    def source(n: int) -> dict[str, bytes]:
        text = made.source(n)["main.tex"].decode()
        text = text.replace("Made paper", f"Made {SCRIPT} paper").replace("Baseline", f"Base {SCRIPT}")
        return {"main.tex": text.replace("See Table", f"\\href{{javascript:alert(4)}}{{link}} {SCRIPT} See").encode()}

    def receipt(r: Receipt) -> Receipt:
        facts = {
            **r.facts,
            "title": SCRIPT,
            "license": '"><script>alert(5)</script>',
            "weight_files": [{"path": SCRIPT, "size": 9}],
        }
        return replace(r, reason=f"{r.reason} {SCRIPT}", facts=facts)

    return build(
        tmp_path, sources=source, receipts=receipt, title=SCRIPT, central_claim=f"Best. {SCRIPT}", mre_config=SCRIPT
    )


def test_what_papers_pages_and_people_wrote_is_text_and_nothing_else(tmp_path: Path) -> None:
    world = hostile(tmp_path)
    ann, paper = world.person("ann"), first(world)
    ann.says(paper, "code_available", "cannot_tell", why=SCRIPT)
    pages = [ann.browser.get("/").text, ann.sees(paper), ann.sees(paper, "hours"), ann.browser.get("/guide").text]
    for page in pages:
        assert "<svg" not in page
        assert "<img" not in page
        assert not re.search(r"<script(?! src=\"/static/)", page), "no script but the page's own files"
        assert not re.search(r"""(?:href|src|action)=["']?\s*(?:javascript|data:text|vbscript)""", page, re.IGNORECASE)
    assert html.escape("<svg onload=alert(2)>") in pages[1]


@pytest.mark.slow
def test_an_address_that_is_none_of_the_webs_becomes_no_link(tmp_path: Path) -> None:
    def receipt(r: Receipt) -> Receipt:
        return replace(r, subject="url:javascript:alert(1)") if r.tool == "hub_search" else r

    world = build(tmp_path, receipts=receipt)
    paper = next(row.arxiv_id for row in world.pool.rows if row.tier == "Retrain")
    page = world.person("ann").sees(paper)
    assert 'href="javascript' not in page
    assert "url:javascript:alert(1)" in page


def test_links_that_leave_tell_nobody_where_they_come_from(world: World) -> None:
    ann = world.person("ann")
    for link in re.findall(r'<a [^>]*href="https?://[^>]*>', ann.sees(first(world))):
        assert 'rel="noreferrer noopener"' in link


def test_no_page_holds_inline_script_or_style_and_every_answer_forbids_both(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    for path in ("/", f"/paper/{paper}", "/guide", "/calibrate", "/nowhere", "/static/page.js", "/login"):
        answer = ann.browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        if "html" in answer.headers["content-type"]:
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", answer.text)


def test_another_name_for_this_machine_is_not_served(world: World) -> None:
    browser = TestClient(world.app, base_url="http://127.0.0.1")
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil:80", "10.0.0.7"):
        assert browser.get("/login", headers={"host": host}).status_code == 421


def test_posts_are_bounded(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    big = ann.fields(paper, "code_available", "yes") | {"why": "x" * MAX_POST}
    assert ann.posts(f"/answer/{paper}", big).status_code == 413
    endless = ann.browser.post(f"/answer/{paper}", content=iter([b"csrf=", b"x"]))
    assert endless.status_code == 411
    many = "&".join(f"a{n}=1" for n in range(500))
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert ann.browser.post(f"/answer/{paper}", content=many, headers=kind).status_code in (400, 403)
    upload = ann.browser.post(f"/answer/{paper}", data={"csrf": ann.csrf}, files={"value": b"x"})
    assert upload.status_code == 400
    assert nothing_written(world)


def test_only_the_words_of_the_question_are_answers(world: World) -> None:
    ann, paper = world.person("ann"), first(world)
    for value in ("YES", "1", "agree", "yes\u0000no", "stands", ""):
        assert ann.says(paper, "code_available", value).status_code == 422
    assert ann.says(paper, "nonsense", "yes").status_code == 422
    assert nothing_written(world)


def test_the_page_refuses_to_listen_in_the_clear_beyond_this_machine() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1"):
        check_binding(host, tls=False, behind_proxy=False)
    for host in ("0.0.0.0", "::", "10.0.0.7", "audit.example.org"):
        with pytest.raises(BindError, match="--tls-cert"):
            check_binding(host, tls=False, behind_proxy=False)
        check_binding(host, tls=True, behind_proxy=False)
        check_binding(host, tls=False, behind_proxy=True)


def test_cookies_are_hidden_from_scripts_and_other_sites_and_from_plain_http_where_there_is_tls(world: World) -> None:
    ann = world.person("ann")
    ann.browser.cookies.clear()
    secure = World(replace(world.given, secure=True), world.pool)
    for page, tls in ((world, False), (secure, True)):
        browser = TestClient(page.app, base_url="https://127.0.0.1")
        cookie = browser.get("/login").headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert ("secure" in cookie) is tls


def test_passwords_are_kept_as_salted_hashes_and_must_be_long(world: World) -> None:
    desk = world.site.desk
    for name in ("pat", "quinn"):
        desk.accounts.add(name, "auditor", PASSWORD, world.now())
    with world.given.store.engine.connect() as connection:
        rows = connection.execute(sa.select(accounts).where(accounts.c.name.in_(["pat", "quinn"]))).mappings().all()
    assert len({row["password"] for row in rows}) == 2
    assert PASSWORD not in str([dict(row) for row in rows])
    refused = [("pat", "auditor", PASSWORD), ("zoe", "owner", PASSWORD), ("zoe", "auditor", "short")]
    for name, role, password in (*refused, ("z o", "auditor", PASSWORD)):
        with pytest.raises(AccountError):
            Accounts(world.given.store.engine).add(name, role, password, world.now())


def test_agreement_is_not_shown_to_blind_readers(world: World) -> None:
    assert world.person("ann").browser.get("/agreement").status_code == 403
    assert world.person("cyd", "adjudicator").browser.get("/agreement").status_code == 200


def test_the_command_refuses_to_listen_in_the_clear_and_makes_accounts_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path)]
    assert main([*store, "ui", "--no-dagster", "--audit-host", "0.0.0.0"]) == 1
    assert "does not listen on 0.0.0.0 in the clear" in capsys.readouterr().err
    for password, code in (("short", 1), (PASSWORD, 0), (PASSWORD, 1)):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
        assert main([*store, "audit", "user", "add", "ann", "--role", "adjudicator"]) == code
    said = capsys.readouterr()
    assert "ann may enter the audit page as adjudicator" in said.out
    assert "at least 12 characters" in said.err
    assert "ann has an account already" in said.err
    assert PASSWORD not in said.out + said.err


def test_the_secret_that_signs_cookies_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made_ = secret(store)
    assert len(made_) == 64
    assert secret(store) == made_
    assert (tmp_path / "audit-secret").stat().st_mode & 0o077 == 0
