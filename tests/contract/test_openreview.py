"""openreview-py, unmodified, against OpenReview API v2 as the world speaks it: one test per row of the wire table."""

import io
import os
import zipfile
from pathlib import Path

import openreview
import pytest

from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldAdapter
from tests.contract.conftest import point_openreview

OFFLINE = pytest.mark.usefixtures("offline_only")
VENUE = "Tiny.cc/2025/Conference"


@pytest.fixture
def reviews(adapter, live):
    """With `--live`, an account of the environment: strangers are challenged."""
    if not live:
        return point_openreview(adapter)
    username, password = os.environ.get("OPENREVIEW_USERNAME", ""), os.environ.get("OPENREVIEW_PASSWORD", "")
    if not username or not password:
        pytest.skip("OpenReview wants a login; set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD")
    return point_openreview(None, username, password)


@pytest.fixture
def forums(live):
    """Two notes with a zip and a file of any kind."""
    return ("KurYdcCbjv", "jzPQRbGkAq") if live else ("AAAtideAAA", "BBBfileBBB")


@OFFLINE
def test_all_notes_of_a_venue_are_read_to_the_empty_page(reviews):
    notes = reviews.get_all_notes(content={"venueid": VENUE})
    assert [note.id for note in notes] == ["AAAtideAAA", "BBBfileBBB", "CCCpdfCCC"]
    assert reviews.get_all_notes(content={"venueid": "Other.cc/2025/Conference"}) == []


@OFFLINE
def test_notes_go_on_after_the_last_id(web):
    url = "https://api2.openreview.net/notes"
    first = web.get(url, params={"content.venueid": VENUE, "limit": "2", "sort": "id", "count": "true"}).json()
    assert (first["count"], [note["id"] for note in first["notes"]]) == (3, ["AAAtideAAA", "BBBfileBBB"])
    more = {"content.venueid": VENUE, "limit": "2", "sort": "id", "count": "false"}
    second = web.get(url, params={**more, "after": "BBBfileBBB"}).json()
    assert [note["id"] for note in second["notes"]] == ["CCCpdfCCC"]
    assert web.get(url, params={**more, "after": "CCCpdfCCC"}).json() == {"notes": []}


@OFFLINE
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


def test_many_supplements_come_in_one_zip_named_after_their_notes(reviews, forums):
    notes = [reviews.get_note(forum) for forum in forums]
    body = reviews.get_attachment(ids=list(forums), field_name="supplementary_material")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    endings = [note.content["supplementary_material"]["value"].rpartition(".")[2] for note in notes]
    assert set(found) == {
        f"{note.number}_supplementary_material.{ending}" for note, ending in zip(notes, endings, strict=True)
    }
    alone = reviews.get_attachment(id=forums[0], field_name="supplementary_material")
    assert found[f"{notes[0].number}_supplementary_material.{endings[0]}"] == alone


def test_one_id_among_many_is_answered_with_the_file_itself(reviews, forums):
    body = reviews.get_attachment(ids=[forums[0]], field_name="supplementary_material")
    assert body == reviews.get_attachment(id=forums[0], field_name="supplementary_material")


@OFFLINE
def test_notes_without_a_file_are_left_out_of_the_zip_and_none_at_all_is_404(reviews):
    ids = ["AAAtideAAA", "BBBfileBBB", "CCCpdfCCC", "nobody"]
    with zipfile.ZipFile(io.BytesIO(reviews.get_attachment(ids=ids, field_name="supplementary_material"))) as archive:
        assert len(archive.namelist()) == 2
    with pytest.raises(openreview.OpenReviewException) as caught:
        reviews.get_attachment(ids=["CCCpdfCCC", "nobody"], field_name="supplementary_material")
    assert caught.value.args[0]["status"] == 404


@OFFLINE
def test_more_than_fifty_ids_are_refused(reviews):
    with pytest.raises(openreview.OpenReviewException) as caught:
        reviews.get_attachment(ids=[f"id{n}" for n in range(51)], field_name="supplementary_material")
    assert caught.value.args[0]["status"] == 400


@OFFLINE
def test_the_librarys_own_bulk_download_works_on_it(reviews, tmp_path: Path):
    files = openreview.tools.get_all_attachments(reviews, VENUE, "supplementary_material", str(tmp_path / "out"))
    assert sorted(Path(file).suffix for file in files) == [".pdf", ".zip"]
    assert all(Path(file).stat().st_size > 0 for file in files)


@OFFLINE
def test_a_supplement_is_a_zip_equal_in_every_fetch(reviews, web):
    body = reviews.get_attachment(field_name="supplementary_material", id="AAAtideAAA")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.namelist() == ["code/train.py"]
        assert archive.read("code/train.py") == b"print('train')\n"
    assert body == web.get("https://openreview.net/attachment?id=AAAtideAAA&name=supplementary_material").content


@OFFLINE
def test_a_supplement_may_be_a_pdf(reviews):
    assert reviews.get_attachment(field_name="supplementary_material", id="BBBfileBBB").startswith(b"%PDF-")


@OFFLINE
def test_no_supplement_is_404_with_a_named_error_and_no_field_in_the_note(reviews):
    assert "supplementary_material" not in reviews.get_note("CCCpdfCCC").content
    with pytest.raises(openreview.OpenReviewException) as caught:
        reviews.get_attachment(field_name="supplementary_material", id="CCCpdfCCC")
    assert caught.value.args[0]["status"] == 404
    assert caught.value.args[0]["name"] == "NotFoundError"


@OFFLINE
def test_the_pdf_of_a_paper_is_served(reviews):
    assert reviews.get_pdf("AAAtideAAA").startswith(b"%PDF-")


@OFFLINE
def test_a_venue_is_a_group_and_an_unknown_group_is_an_error(reviews):
    assert reviews.get_group(VENUE).id == VENUE
    with pytest.raises(openreview.OpenReviewException):
        reviews.get_group("Other.cc/2025/Conference")


@OFFLINE
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
