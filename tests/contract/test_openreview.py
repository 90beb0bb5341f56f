"""openreview-py, unmodified, against OpenReview API v2 as the world speaks it: one test per row of the wire table."""

import io
import zipfile
from pathlib import Path

import openreview
import pytest

from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldAdapter

pytestmark = pytest.mark.usefixtures("offline_only")
VENUE = "Tiny.cc/2025/Conference"


def test_all_notes_of_a_venue_are_read_to_the_empty_page(reviews):
    notes = reviews.get_all_notes(content={"venueid": VENUE})
    assert [note.id for note in notes] == ["AAAtideAAA", "BBBfileBBB", "CCCpdfCCC"]
    assert reviews.get_all_notes(content={"venueid": "Other.cc/2025/Conference"}) == []


def test_notes_go_on_after_the_last_id(web):
    url = "https://api2.openreview.net/notes"
    first = web.get(url, params={"content.venueid": VENUE, "limit": "2", "sort": "id", "count": "true"}).json()
    assert (first["count"], [note["id"] for note in first["notes"]]) == (3, ["AAAtideAAA", "BBBfileBBB"])
    more = {"content.venueid": VENUE, "limit": "2", "sort": "id", "count": "false"}
    second = web.get(url, params={**more, "after": "BBBfileBBB"}).json()
    assert [note["id"] for note in second["notes"]] == ["CCCpdfCCC"]
    assert web.get(url, params={**more, "after": "CCCpdfCCC"}).json() == {"notes": []}


def test_a_note_tells_the_venues_title_and_where_its_supplement_lies(reviews):
    note = reviews.get_note("AAAtideAAA")
    told = {key: value["value"] for key, value in note.content.items()}
    assert (note.forum, note.domain, note.license) == ("AAAtideAAA", VENUE, "CC BY 4.0")
    assert told["title"] == "Tideformer (renamed)"
    assert told["authors"] == ["Ada Shore", "Ben Wharf"]
    assert told["venueid"] == VENUE
    path = told["supplementary_material"]
    assert path.startswith("/attachment/")
    assert path.endswith(".zip")
    assert note.pdate
    assert note.tmdate > note.cdate


def test_a_supplement_is_a_zip_equal_in_every_fetch(reviews, web):
    body = reviews.get_attachment(field_name="supplementary_material", id="AAAtideAAA")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.namelist() == ["code/train.py"]
        assert archive.read("code/train.py") == b"print('train')\n"
    assert body == web.get("https://openreview.net/attachment?id=AAAtideAAA&name=supplementary_material").content


def test_a_supplement_may_be_a_pdf(reviews):
    assert reviews.get_attachment(field_name="supplementary_material", id="BBBfileBBB").startswith(b"%PDF-")


def test_no_supplement_is_404_with_a_named_error_and_no_field_in_the_note(reviews):
    assert "supplementary_material" not in reviews.get_note("CCCpdfCCC").content
    with pytest.raises(openreview.OpenReviewException) as caught:
        reviews.get_attachment(field_name="supplementary_material", id="CCCpdfCCC")
    assert caught.value.args[0]["status"] == 404
    assert caught.value.args[0]["name"] == "NotFoundError"


def test_the_pdf_of_a_paper_is_served(reviews):
    assert reviews.get_pdf("AAAtideAAA").startswith(b"%PDF-")


def test_a_venue_is_a_group_and_an_unknown_group_is_an_error(reviews):
    assert reviews.get_group(VENUE).id == VENUE
    with pytest.raises(openreview.OpenReviewException):
        reviews.get_group("Other.cc/2025/Conference")


def test_anonymous_notes_may_be_refused_with_a_challenge_and_a_login_opens_them(tmp_path: Path):
    (tmp_path / "world.toml").write_text(
        f'name = "Shut"\nas_of = 2025-09-01\nvenue = "{VENUE}"\nopenreview_challenge = true\n'
    )
    paper = tmp_path / "papers/2505.00001"
    paper.mkdir(parents=True)
    (paper / "paper.toml").write_text('arxiv_id = "2505.00001"\ntitle = "T"\nforum_id = "AAA"\n')
    with OfflineWorld(tmp_path) as world:
        client = openreview.api.OpenReviewClient(baseurl="https://api2.openreview.net")
        client.session.adapters.clear()
        client.session.mount("https://", WorldAdapter(world))
        with pytest.raises(openreview.OpenReviewException) as caught:
            client.get_all_notes(content={"venueid": VENUE})
        assert caught.value.args[0]["name"] == "ChallengeRequiredError"
        with pytest.raises(openreview.OpenReviewException):
            client.login_user("reader@example.org", "")
        client.login_user("reader@example.org", "a password")
        assert [note.id for note in client.get_all_notes(content={"venueid": VENUE})] == ["AAA"]
