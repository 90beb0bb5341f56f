"""huggingface_hub, unmodified, against the Hub as the world speaks it: one test per row of the wire table."""

from datetime import UTC, datetime
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from pipeline.evidence import Outcome
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.reach import lfs_size
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

OFFLINE = pytest.mark.usefixtures("offline_only")
BASE = "lumen-lab/tideformer-base"


def test_a_model_tells_its_commit_gate_files_and_tags(hub, subjects):
    info = hub.model_info(subjects.model)
    assert info.id == subjects.model
    assert len(info.sha) == 40
    assert (info.gated, info.private, info.disabled) == (False, False, False)
    assert "config.json" in {sibling.rfilename for sibling in info.siblings}
    assert any(tag.startswith("license:") for tag in info.tags)
    assert info.last_modified >= info.created_at


@OFFLINE
def test_a_model_tells_licence_base_model_parameters_and_storage(hub):
    info = hub.model_info(BASE)
    assert info.card_data.license == "apache-2.0"
    assert info.card_data.base_model == "lumen-lab/moon"
    assert info.safetensors.total == 1_000_000
    assert info.used_storage > 4_000_000
    assert (info.library_name, info.pipeline_tag, info.author) == ("transformers", "text-generation", "lumen-lab")


@OFFLINE
def test_sizes_of_files_come_when_asked(hub):
    plain = {sibling.rfilename: sibling for sibling in hub.model_info(BASE).siblings}
    told = {sibling.rfilename: sibling for sibling in hub.model_info(BASE, files_metadata=True).siblings}
    assert plain["model.safetensors"].size is None
    assert told["model.safetensors"].size == told["model.safetensors"].lfs.size == 4_000_000
    assert len(told["model.safetensors"].lfs.sha256) == 64
    assert told["config.json"].lfs is None


def test_expanding_brings_only_what_was_asked(hub, subjects):
    info = hub.model_info(subjects.model, expand=["gated", "siblings"])
    assert info.gated is False
    assert info.siblings
    assert info.sha is None


@OFFLINE
def test_a_model_is_told_by_its_commit_and_an_unknown_revision_is_named_as_such(hub):
    assert hub.model_info(BASE, revision="1" * 10 + "2" * 10 + "3" * 10 + "4" * 10).id == BASE
    with pytest.raises(RevisionNotFoundError):
        hub.model_info(BASE, revision="no-such-branch")


def test_a_data_set_tells_its_files_and_licence(hub, subjects):
    info = hub.dataset_info(subjects.dataset)
    assert info.id == subjects.dataset
    assert any(sibling.rfilename.endswith(".parquet") for sibling in info.siblings)


def test_the_files_of_a_repository_are_listed_through_folders(hub, subjects):
    files = hub.list_repo_files(subjects.model)
    assert {"README.md", "config.json"} <= set(files)
    assert any("/" in path for path in files)


@OFFLINE
def test_a_long_listing_comes_in_linked_pages(hub, web):
    assert len(hub.list_repo_files("lumen-lab/many")) == 1203
    first = web.get("https://huggingface.co/api/models/lumen-lab/many/tree/main?recursive=true")
    assert len(first.json()) == 1000
    assert first.links["next"]["url"].startswith("https://huggingface.co/api/models/lumen-lab/many/tree/main?")


@OFFLINE
def test_a_tree_lists_one_folder_and_marks_folders(hub):
    entries = {entry.path: entry for entry in hub.list_repo_tree(BASE)}
    assert isinstance(entries["onnx"], huggingface_hub.hf_api.RepoFolder)
    assert entries["model.safetensors"].lfs.size == 4_000_000
    assert [entry.path for entry in hub.list_repo_tree(BASE, path_in_repo="onnx")] == ["onnx/note.txt"]


def test_paths_are_looked_up_by_post_and_unknown_ones_are_left_out(hub, subjects):
    found = hub.get_paths_info(subjects.model, ["config.json", "no/such/file"])
    assert [entry.path for entry in found] == ["config.json"]


def test_an_open_repository_passes_the_access_check(hub, subjects):
    assert hub.auth_check(subjects.model) is None


def test_a_gated_repository_tells_its_facts_but_refuses_access(hub, subjects):
    info = hub.model_info(subjects.gated_model)
    assert info.gated == subjects.gate
    assert any(path.endswith(".safetensors") for path in hub.list_repo_files(subjects.gated_model))
    with pytest.raises(GatedRepoError) as caught:
        hub.auth_check(subjects.gated_model)
    assert caught.value.response.status_code == 401


@OFFLINE
def test_a_gated_file_is_401_to_a_stranger_and_403_to_an_unapproved_account(hub, web):
    url = "https://huggingface.co/lumen-lab/tideformer-gated/resolve/main/model.safetensors"
    with pytest.raises(GatedRepoError):
        huggingface_hub.get_hf_file_metadata(url, token=False)
    told = web.head(url, headers={"Authorization": "Bearer hf_token"})
    assert (told.status_code, told.headers["x-error-code"]) == (403, "GatedRepo")


def test_a_missing_repository_is_401_to_a_stranger(hub, subjects):
    with pytest.raises(RepositoryNotFoundError) as caught:
        hub.model_info(subjects.missing_model)
    assert not isinstance(caught.value, GatedRepoError)
    assert caught.value.response.status_code == 401


def test_a_missing_or_private_repository_is_404_to_an_account(hub_with_token):
    for name in ("lumen-lab/vanished", "lumen-lab/secret"):
        with pytest.raises(RepositoryNotFoundError) as caught:
            hub_with_token.model_info(name)
        assert caught.value.response.status_code == 404


@OFFLINE
def test_a_disabled_repository_says_so(hub):
    with pytest.raises(DisabledRepoError):
        hub.model_info("lumen-lab/disabled")
    with pytest.raises(DisabledRepoError):
        hub.list_repo_files("lumen-lab/disabled")


@OFFLINE
def test_an_unrecorded_repository_is_unreachable_and_never_missing(hub):
    with pytest.raises(Exception, match="unreachable") as caught:
        hub.model_info("nobody/knows")
    assert not isinstance(caught.value, HfHubHTTPError)


def test_a_file_exists_or_not(hub, subjects):
    assert hub.file_exists(subjects.model, "config.json")
    assert not hub.file_exists(subjects.model, "no-such-file.json")


@OFFLINE
def test_metadata_of_a_small_file_come_from_the_hub_itself(hub):
    told = huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(BASE, "config.json"), token=False)
    assert told.commit_hash == "1111111111222222222233333333334444444444"
    assert told.size == len('{"hidden_size": 8}\n')
    assert told.location == f"https://huggingface.co/{BASE}/resolve/main/config.json"
    assert told.etag


@OFFLINE
def test_metadata_of_a_large_file_point_to_another_host(hub):
    told = huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(BASE, "model.safetensors"), token=False)
    assert told.size == 4_000_000
    assert told.location.startswith("https://cdn-lfs.hf.co/")


@OFFLINE
def test_files_download_whole_small_and_large(hub, tmp_path):
    small = hub.hf_hub_download(BASE, "config.json", cache_dir=tmp_path)
    large = hub.hf_hub_download(BASE, "model.safetensors", cache_dir=tmp_path)
    assert Path(small).read_text() == '{"hidden_size": 8}\n'
    body = Path(large).read_bytes()
    assert len(body) == 4_000_000
    assert b"__metadata__" in body[:32]


@OFFLINE
def test_a_data_set_file_resolves_under_its_own_prefix(hub):
    url = huggingface_hub.hf_hub_url("lumen-lab/tides", "train.parquet", repo_type="dataset")
    assert huggingface_hub.get_hf_file_metadata(url, token=False).size == 90_000


@OFFLINE
def test_a_missing_file_and_a_missing_revision_are_told_apart(hub):
    with pytest.raises(EntryNotFoundError):
        huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(BASE, "absent.bin"), token=False)
    url = huggingface_hub.hf_hub_url(BASE, "config.json", revision="absent")
    with pytest.raises(RevisionNotFoundError):
        huggingface_hub.get_hf_file_metadata(url, token=False)


@OFFLINE
def test_a_large_file_gives_the_range_that_was_asked(web):
    url = f"https://huggingface.co/{BASE}/resolve/main/model.safetensors"
    part, whole = web.get(url, headers={"Range": "bytes=100000-100099"}), web.get(url)
    assert (part.status_code, part.headers["content-range"]) == (206, "bytes 100000-100099/4000000")
    assert part.content == whole.content[100000:100100]
    assert web.get(url, headers={"Range": "bytes=4000000-"}).status_code == 416


@OFFLINE
def test_models_and_data_sets_are_searched_by_words_of_their_id(hub):
    assert [found.id for found in hub.list_models(search="tideformer")] == [BASE, "lumen-lab/tideformer-gated"]
    assert [found.id for found in hub.list_models(search="base tideformer", author="lumen-lab")] == [BASE]
    assert [found.id for found in hub.list_models(filter="license:apache-2.0")] == [BASE]
    assert [found.id for found in hub.list_datasets(search="tides")] == ["lumen-lab/tides"]


def test_a_search_that_finds_nothing_is_an_empty_list(hub, subjects):
    assert list(hub.list_models(search=subjects.empty_search)) == []
    assert list(hub.list_datasets(search=subjects.empty_search)) == []


@OFFLINE
def test_a_search_never_shows_what_a_stranger_cannot_see(hub):
    names = {found.id for found in hub.list_models(author="lumen-lab")}
    assert BASE in names
    assert not names & {"lumen-lab/vanished", "lumen-lab/secret", "lumen-lab/disabled"}


@OFFLINE
def test_a_space_is_not_found(web):
    assert web.get("https://huggingface.co/api/spaces/lumen-lab/demo").status_code == 404


@OFFLINE
def test_a_busy_hub_is_429_with_retry_after_and_passes(hub):
    with pytest.raises(HfHubHTTPError) as caught:
        hub.model_info("lumen-lab/busy")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["retry-after"] == "5"
    assert hub.model_info("lumen-lab/busy").id == "lumen-lab/busy"


def test_a_gate_has_to_be_caught_before_a_missing_repository():
    assert issubclass(GatedRepoError, RepositoryNotFoundError)
    assert not issubclass(DisabledRepoError, RepositoryNotFoundError)


@pytest.fixture
def probes(transport, tmp_path):
    """Our own probes on the transport that the client under test has; with `--live` on the real network."""
    clock = SimulatedClock(datetime(2026, 12, 1, tzinfo=UTC))
    recorder = Recorder(Store(tmp_path), clock, run="contract", epoch="contract", transport=transport)
    return Probes("2505.00001", recorder, {}, PaperFacts(title="Tideformer: Attention & the Moon"))


def told_by_the_client(hub, name):
    """What huggingface_hub says of a model, in our words."""
    try:
        hub.auth_check(name)
    except GatedRepoError:
        return Outcome.GATED
    except RepositoryNotFoundError:
        return Outcome.UNDETERMINED  # one look proves no absence
    return Outcome.AVAILABLE


@pytest.mark.parametrize(
    ("which", "outcome", "reason"),
    [
        ("model", Outcome.AVAILABLE, ""),
        ("gated_model", Outcome.GATED, ""),
        ("missing_model", Outcome.UNDETERMINED, "gone_once: missing or private"),
    ],
)
def test_the_probe_says_what_the_client_says(hub, probes, subjects, which, outcome, reason):
    name = getattr(subjects, which)
    receipt = probes.hub_repo(name).receipt
    assert receipt.outcome == told_by_the_client(hub, name) == outcome
    assert receipt.reason.startswith(reason)
    if outcome is Outcome.AVAILABLE:
        assert receipt.facts["weights_open"]
    if outcome is Outcome.GATED:
        assert receipt.reason == subjects.gate


def test_the_probe_pins_the_commit_that_the_client_names_and_reads_bytes_of_that_one(hub, probes, subjects):
    receipt = probes.hub_repo(subjects.model).receipt
    commit = hub.model_info(subjects.model).sha
    assert receipt.facts["commit"] == commit
    seen = [probes._recorder.record.get_exchange(id_) for id_ in receipt.exchanges]
    files = [exchange.url for exchange in seen if "/resolve/" in exchange.url]
    assert files
    assert all(f"/resolve/{commit}/" in url for url in files)
    assert all(exchange.status in (200, 206) and not exchange.authenticated for exchange in seen)


def test_the_probe_of_a_data_set_gets_bytes_of_its_largest_file(hub, probes, subjects):
    receipt = probes.hub_repo(subjects.dataset, "dataset").receipt
    assert set(receipt.facts["data_open"]) <= set(hub.list_repo_files(subjects.dataset, repo_type="dataset"))
    assert receipt.facts["data_open"]


@OFFLINE
def test_what_git_holds_of_a_large_file_is_a_pointer(web):
    text = web.get(f"https://huggingface.co/{BASE}/raw/main/model.safetensors").text
    assert text.startswith("version https://git-lfs.github.com/spec/v1\n")
    assert lfs_size(text.encode()) == 4_000_000
