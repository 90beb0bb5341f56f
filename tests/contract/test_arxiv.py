"""arxiv.py, unmodified, against arXiv's query API and source packages: one test per row of the wire table."""

import gzip
import io
import tarfile

import arxiv
import pytest

OFFLINE = pytest.mark.usefixtures("offline_only")


def test_ids_are_answered_in_one_batch_and_unknown_ones_are_simply_absent(arxiv_client, subjects):
    found = list(arxiv_client.results(arxiv.Search(id_list=[subjects.paper, subjects.unknown_paper])))
    assert [result.get_short_id().partition("v")[0] for result in found] == [subjects.paper]
    assert found[0].title
    assert found[0].authors
    assert found[0].updated >= found[0].published


@OFFLINE
def test_an_entry_tells_everything_the_corpus_reads(arxiv_client):
    (result,) = arxiv_client.results(arxiv.Search(id_list=["2505.00001"]))
    assert result.entry_id == "http://arxiv.org/abs/2505.00001v2"
    assert result.title == "Tideformer: Attention & the Moon"
    assert [author.name for author in result.authors] == ["Ada Shore", "Ben Wharf"]
    assert result.summary == "We predict tides <well>."
    assert result.comment == "Accepted at Tiny 2025"
    assert (result.primary_category, result.categories) == ("cs.LG", ["cs.LG", "stat.ML"])
    assert result.published.isoformat() == "2025-05-14T00:00:00+00:00"
    assert result.updated.isoformat() == "2025-06-01T12:00:00+00:00"


def test_the_pdf_link_leads_to_the_source(arxiv_client, subjects):
    (result,) = arxiv_client.results(arxiv.Search(id_list=[subjects.paper]))
    assert result.source_url() == f"https://arxiv.org/src/{result.get_short_id()}"


@OFFLINE
def test_only_unknown_ids_are_an_empty_answer(arxiv_client):
    assert list(arxiv_client.results(arxiv.Search(id_list=["2505.99998"]))) == []


@OFFLINE
def test_a_version_is_served_up_to_the_newest(arxiv_client):
    asked = ["2505.00001v1", "2505.00001v2", "2505.00001v3"]
    assert len(list(arxiv_client.results(arxiv.Search(id_list=asked)))) == 2


def test_one_malformed_id_spoils_the_whole_batch_with_400(arxiv_client, subjects):
    with pytest.raises(arxiv.HTTPError) as caught:
        list(arxiv_client.results(arxiv.Search(id_list=[subjects.paper, "not-an-id"])))
    assert caught.value.status == 400


@OFFLINE
def test_titles_are_searched_by_phrase_and_fields_are_joined(arxiv_client):
    def found(query: str) -> list[str]:
        return [result.get_short_id() for result in arxiv_client.results(arxiv.Search(query=query))]

    assert found('ti:"attention the moon"') == ["2505.00001v2"]
    assert found('ti:"moon attention"') == []
    assert found("ti:tideformer AND au:wharf") == ["2505.00001v2"]
    assert found("ti:tideformer OR ti:file") == ["2505.00001v2", "2505.00002v1"]
    assert found("cat:cs.LG ANDNOT ti:tideformer") == [f"2505.0000{n}v1" for n in (2, 3, 4, 5)]


@OFFLINE
def test_a_long_answer_comes_in_pages(adapter):
    client = arxiv.Client(page_size=2, delay_seconds=0, num_retries=0)
    client._session.mount("https://", adapter)
    assert len(list(client.results(arxiv.Search(query="cat:cs.LG")))) == 5


@OFFLINE
def test_a_source_of_several_files_is_a_tar_gz_equal_in_every_fetch(web):
    first, second = (web.get(f"https://arxiv.org/{kind}/2505.00001v2") for kind in ("src", "e-print"))
    assert first.headers["content-type"] == "application/gzip"
    assert first.content == second.content
    with tarfile.open(fileobj=io.BytesIO(first.content)) as archive:
        assert archive.getnames() == ["main.tex", "sec/a.tex"]
        assert {member.mtime for member in archive} == {0}


@OFFLINE
def test_a_source_of_one_file_is_that_file_gzipped_without_a_tar(web):
    body = gzip.decompress(web.get("https://export.arxiv.org/src/2505.00002v1").content)
    assert body == b"\\documentclass{article}\n"


@OFFLINE
@pytest.mark.parametrize(
    ("paper", "status", "start"),
    [("2505.00003", 200, b"%PDF-"), ("2505.00004", 404, b"<!DOCTYPE html>"), ("2505.00005", 200, b"<!DOCTYPE html>")],
)
def test_a_source_may_be_a_pdf_or_a_page_or_not_there(web, paper, status, start):
    answer = web.get(f"https://arxiv.org/src/{paper}v1")
    assert answer.status_code == status
    assert answer.content.startswith(start)


@OFFLINE
def test_the_source_of_an_unrecorded_paper_is_unreachable(web):
    with pytest.raises(Exception, match="unreachable"):
        web.get("https://arxiv.org/src/2505.99998v1")
