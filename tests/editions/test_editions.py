"""An edition is settled as a whole before anything runs; what cannot be is refused by file and key."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.editions import EditionError, data, load, sample_order, shipped
from pipeline.tiers import Tier

BASE = """
conference = "Test Conference"
year = 2025
venue = "Test.cc/2025/Conference"
as_of = 2025-12-01
world = "a-world"
seed = "s"
sample = 60
pool_size = 24
eval_size = 12
dev_per_tier = 2
"""


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_edition_loads_under_its_own_name(name):
    edition = load(name)
    assert edition.name == name
    assert len(edition.hash) == 64


def test_the_shipped_editions_are_these():
    assert shipped() == ["iclr-2025", "icml-2025", "neurips-2025", "sample-2025", "sample-2025-cap24"]


@pytest.mark.parametrize("name", ["icml-2025", "iclr-2025"])
def test_conferences_without_a_ready_index_are_listed_by_their_openreview_venue(name):
    e = load(name)
    assert e.live is not None
    assert (e.live.index_dataset, e.live.index_file) == (None, None)
    assert e.venues == (e.venue,)
    assert 0 < e.corpus.min_kept < e.corpus.min_papers


def test_neurips_2025_has_the_published_settings():
    e = load("neurips-2025")
    assert (e.sample, e.pool_size, e.eval_size, e.dev_per_tier) == (1000, 200, 100, 5)
    assert (e.pool_cap_hours, e.split_cap_hours) == (192, 96)
    assert (e.band_edges_hours, e.band_weights) == ((8, 32, 96, 192), (5, 7, 8, 5))
    assert (e.split_edges_hours, e.split_weights) == ((8, 32, 96), (5, 7, 8))
    assert (e.tolerance_relative, e.compute_audit_tolerance) == (0.05, 0.20)
    assert (e.scoring, e.paid_api_policy, e.draw) == ("published", "after_audit", "cheapest")
    assert e.live is not None
    assert e.live.index_dataset == "ai-conferences/NeurIPS2025"


def test_a_new_edition_has_one_cap_for_both_and_the_default_ladder(tmp_path):
    e = load(_write(tmp_path, "new", BASE))
    assert e.pool_cap_hours == e.split_cap_hours == 96
    assert (e.band_edges_hours, e.band_weights) == ((8, 32, 96), (5, 7, 8))
    assert (e.scoring, e.max_receipt_age_days) == ("needs", 14)
    assert (e.absence_searches.github, e.absence_searches.hub) == (2, 1)


def test_a_variant_with_another_cap_cuts_the_ladder_and_shares_everything_before_selection():
    base, variant = load("sample-2025"), load("sample-2025-cap24")
    assert (variant.band_edges_hours, variant.band_weights) == ((8, 24), (5, 7))
    assert variant.hash != base.hash
    for stage in ("corpus", "sample", "bundles", "classification"):
        assert variant.part(stage) == base.part(stage)
    for stage in ("rows", "selection"):  # which band and whether eligible is said of each row
        assert variant.part(stage) != base.part(stage)


def test_a_higher_cap_opens_a_band_that_weighs_as_much_as_the_last():
    variant = load("sample-2025").variant({"pool_cap_hours": 200, "split_cap_hours": 200})
    assert (variant.band_edges_hours, variant.band_weights) == ((8, 32, 96, 200), (5, 7, 8, 8))


def test_a_variant_of_a_two_cap_edition_keeps_the_ladder_up_to_its_own_cap():
    e = load("neurips-2025").variant({"pool_cap_hours": 96})
    assert (e.band_edges_hours, e.band_weights) == ((8, 32, 96), (5, 7, 8))


def test_a_variant_may_change_one_key_of_a_block(tmp_path):
    _write(tmp_path, "base", BASE + "[classifier]\nmax_tool_rounds = 4\n")
    e = load(_write(tmp_path, "other", 'extends = "base"\n[classifier]\nmodel = "llm"\n'))
    assert (e.classifier.model, e.classifier.max_tool_rounds) == ("llm", 4)


def test_a_variant_that_samples_until_a_tier_is_full_drops_the_fixed_size(tmp_path):
    _write(tmp_path, "base", BASE)
    e = load(_write(tmp_path, "until", 'extends = "base"\nmax_sample = 90\nuntil = {Reimplement = 6}\n'))
    assert (e.sample, e.until, e.sample_limit) == (None, {Tier.REIMPLEMENT: 6}, 90)
    assert "scoring" in e.part("sample")  # which tier a paper counts for depends on it
    back = load(_write(tmp_path, "fixed", 'extends = "until"\nsample = 70\n'))
    assert (back.sample, back.until, back.max_sample) == (70, None, None)


@pytest.mark.parametrize(
    ("line", "key", "remedy"),
    [
        ("pool_siz = 3", "pool_siz", "did you mean pool_size"),
        ("band_edges_hours = [8, 32, 96, 192]\nband_weights = [5, 7, 8, 5]", "band_edges_hours", "192 is above"),
        ("band_edges_hours = [8, 32]\nband_weights = [5, 7]", "band_edges_hours", "last edge 32 must be"),
        ("band_edges_hours = [32, 8, 96]", "band_edges_hours", "rise"),
        ("pool_cap_hours = 192\nsplit_cap_hours = 100", "band_edges_hours", "split_cap_hours 100 must be one"),
        ("split_cap_hours = 96\npool_cap_hours = 32", "split_cap_hours", "above pool_cap_hours 32"),
        ("band_weights = [5, 7]", "band_weights", "2 weights for 3 bands"),
        ("band_weights = [0, 0, 0]", "band_weights", "above zero"),
        ("band_edges_hours = [8, 16, 32, 96]\nband_weights = [5, 7, 8]", "band_weights", "3 weights for 4 bands"),
        ("until = {Reimplement = 6}\nmax_sample = 60", "sample", "exactly one of sample and until"),
        ("max_sample = 100", "max_sample", "remove it"),
        ("scoring = 'kind'", "scoring", "'needs' or 'published'"),
        ("tolerance_relative = 5", "tolerance_relative", "less than 1"),
        ("max_passes = 0", "max_passes", "greater than 0"),
        ("max_passes = 11", "max_passes", "less than or equal to 10"),
        ("second_look_hours = 0.5", "second_look_hours", "greater than or equal to 1"),
        ("draw = 'random'", "draw", "'cheapest' or 'seeded'"),
        ("split_cap_hours = inf", "split_cap_hours", "finite"),
        ("name = 'other'", "name", "differs from the file's name"),
        ("[classifier]\nmodle = 'x'", "classifier.modle", "unknown key"),
        ("[absence_searches]\ngithub = 0", "absence_searches.github", "greater than 0"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_file_and_key(tmp_path, line, key, remedy):
    path = _write(tmp_path, "bad", BASE + line)
    with pytest.raises(EditionError) as error:
        load(path)
    message = str(error.value)
    assert str(path) in message
    assert f"{key}:" in message
    assert remedy in message


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("pool_size = 24", "pool_size = 61", "pool_size"),
        ("eval_size = 12", "eval_size = 25", "eval_size"),
        ("dev_per_tier = 2", "dev_per_tier = 5", "dev_per_tier"),
        ("sample = 60", "sample = true", "sample"),
        ("sample = 60", "until = {Reimplement = 6}", "max_sample"),
        ("sample = 60", "max_sample = 60\nuntil = {Reimplement = 61}", "until"),
        ("sample = 60", "max_sample = 60\nuntil = {Artifact-Blocked = 6}", "until"),
        ("sample = 60", "max_sample = 60\nuntil = {Runn = 6}", "until"),
        ("sample = 60", "", "sample"),
        ('world = "a-world"', "", "world"),
        ('seed = "s"', "", "seed"),
        ('seed = "s"', 'seed = ""', "seed"),
    ],
)
def test_sizes_and_sources_that_cannot_be_are_refused_by_key(tmp_path, old, new, key):
    path = _write(tmp_path, "bad", BASE.replace(old, new))
    with pytest.raises(EditionError, match=rf"bad\.toml: {key}:"):
        load(path)


def test_every_fault_of_a_file_is_reported_at_once(tmp_path):
    with pytest.raises(EditionError) as error:
        load(_write(tmp_path, "bad", BASE + "draw = 'x'\nscoring = 'y'\nfoo = 1\n"))
    assert len(str(error.value).splitlines()) == 3


def test_editions_that_extend_each_other_in_a_circle_are_refused(tmp_path):
    _write(tmp_path, "a", 'extends = "b"\n')
    with pytest.raises(EditionError, match="circle"):
        load(_write(tmp_path, "b", 'extends = "a"\n'))


def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path):
    with pytest.raises(EditionError, match=r"bad\.toml: not a TOML file"):
        load(_write(tmp_path, "bad", "sample = = 3"))


def test_an_unknown_edition_is_answered_with_the_nearest_name():
    with pytest.raises(EditionError, match="did you mean sample-2025"):
        load("sample-2052")


def test_the_hash_depends_on_every_setting_and_on_no_path(tmp_path):
    one = load(_write(tmp_path, "e", BASE))
    (tmp_path / "elsewhere").mkdir()
    assert load(_write(tmp_path / "elsewhere", "e", BASE)).hash == one.hash
    assert load(_write(tmp_path, "e", BASE + "max_passes = 3")).hash != one.hash
    assert load(_write(tmp_path, "e", BASE + "max_passes = 2")).hash == one.hash  # the default, said aloud


def test_a_variant_written_in_full_hashes_like_one_that_extends(tmp_path):
    _write(tmp_path, "base", BASE)
    (tmp_path / "full").mkdir()
    extended = load(_write(tmp_path, "v", 'extends = "base"\neval_size = 9\n'))
    full = load(_write(tmp_path / "full", "v", BASE.replace("eval_size = 12", "eval_size = 9")))
    assert extended.hash == full.hash


def test_where_the_world_lies_is_not_part_of_the_hash(tmp_path):
    for place in ("one", "two"):
        (tmp_path / place / "realworld").mkdir(parents=True)
    a = load("sample-2025", world=tmp_path / "one" / "realworld")
    b = load("sample-2025", world=tmp_path / "two" / "realworld")
    assert a.hash == b.hash != load("sample-2025").hash
    assert a.world_path == tmp_path / "one" / "realworld"
    assert a.variant({"eval_size": 9}).world_path == a.world_path
    with pytest.raises(EditionError, match="is not a folder"):
        load("sample-2025", world=tmp_path / "three")


def test_an_edition_in_a_world_folder_keeps_its_hash_when_that_folder_is_gone(tmp_path):
    folder = tmp_path / "a-world"
    folder.mkdir()
    here = load(_write(tmp_path, "e", BASE.replace('"a-world"', f'"{folder}"')))
    assert here.world_path == folder
    before = here.hash, here.settings()
    folder.rmdir()
    assert (here.hash, here.settings()) == before
    assert before[1]["world"] == "a-world"


def test_a_world_beside_the_edition_file_is_found(tmp_path):
    (tmp_path / "a-world").mkdir()
    assert load(_write(tmp_path, "e", BASE)).world_path == tmp_path / "a-world"


def test_every_setting_is_read_by_some_stage_or_only_names_the_edition():
    edition = load("neurips-2025")
    read = set()
    for stage in ("corpus", "sample", "bundles", "classification", "rows", "selection", "audit", "release", "drift"):
        read |= edition.part(stage).keys()
    assert set(type(edition).model_fields) - read == {"name", "extends"}


def test_an_edition_has_one_index(tmp_path):
    two = BASE.replace('world = "a-world"', "") + '\n[live]\nindex_dataset = "a/b"\nindex_file = "mine.csv"\n'
    with pytest.raises(EditionError, match="index_file: index_dataset is an index too"):
        load(_write(tmp_path, "two", two))


@pytest.mark.parametrize("mirror", ["ftp://x/", "https://", "/src", "https://x/?q=1", "https://x/a b"])
def test_a_mirror_is_a_plain_web_address(tmp_path, mirror):
    with pytest.raises(EditionError, match=r"live\.arxiv_mirror"):
        load(_write(tmp_path, "m", BASE + f'\n[live]\narxiv_mirror = "{mirror}"\n'))


def test_where_an_index_or_a_snapshot_lies_is_no_setting(tmp_path):
    live = '\n[live]\nindex_file = "{0}mine.csv"\narxiv_snapshot = "{0}arxiv.jsonl"\n'
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = (load(_write(tmp_path / n, "e", BASE + live.format(f"{n}{n}/"))) for n in ("a", "b"))
    assert one.hash == two.hash
    assert one.settings()["live"]["index_file"] == "mine.csv"
    assert one.beside("aa/mine.csv") == tmp_path / "a" / "aa" / "mine.csv"


def test_a_stage_that_does_not_exist_has_no_part():
    with pytest.raises(KeyError, match="corpus"):
        load("sample-2025").part("corpse")


def test_an_edition_cannot_be_changed_after_it_is_loaded():
    edition = load("sample-2025")
    with pytest.raises(ValidationError):
        edition.sample = 3


def test_shipped_data_is_found():
    assert data("editions", "sample-2025.toml").is_file()
    assert data("reference", "devices.toml").is_file()


def test_the_sample_order_is_the_hash_of_seed_and_id():
    assert sample_order(["2501.00001", "2501.00002", "2501.00003"], "s") == _by_hand(
        ["2501.00001", "2501.00002", "2501.00003"], "s"
    )
    many = [f"2501.{i:05d}" for i in range(200)]
    assert sample_order(many, "s") == _by_hand(many, "s")
    assert sample_order(many, "s") != sample_order(many, "t")


def _by_hand(ids: list[str], seed: str) -> list[str]:
    return [i for _, i in sorted((hashlib.sha256(seed.encode() + i.encode()).hexdigest(), i) for i in ids)]


@settings(max_examples=50, deadline=None)
@given(st.sets(st.from_regex(r"2[0-9]{3}\.[0-9]{5}", fullmatch=True), max_size=30), st.text(min_size=1, max_size=8))
def test_the_sample_order_of_a_part_is_the_part_of_the_order(ids, seed):
    """Losing papers, or learning of new ones, never reorders the rest: any completed prefix stays a uniform sample."""
    whole = sample_order(ids, seed)
    half = set(sorted(ids)[::2])
    assert sample_order(half, seed) == [i for i in whole if i in half]
    assert sample_order(list(reversed(whole)), seed) == whole


def test_a_world_that_climbs_is_looked_for_beside_the_edition_file_alone(tmp_path):
    (tmp_path / "editions").mkdir()
    climbing = BASE.replace('"a-world"', '"../reference"')
    out = load(_write(tmp_path / "editions", "out", climbing))
    assert out.world_path == tmp_path / "editions" / ".." / "reference"
    (tmp_path / "reference").mkdir()
    assert out.world_path.is_dir()
    shipped_folder = f'"offline/../{"offline/sample-2025"}"'
    strange = load(_write(tmp_path / "editions", "strange", BASE.replace('"a-world"', shipped_folder)))
    assert data("offline/../offline/sample-2025").is_dir()
    assert not strange.world_path.is_dir()
    assert strange.settings()["world"] == "sample-2025"


def test_an_edition_is_published_where_its_own_file_says_and_nowhere_else(tmp_path):
    _write(tmp_path, "base", BASE + 'repo = "lab/base"')
    variant = load(_write(tmp_path, "v", 'extends = "base"\neval_size = 9\n'))
    assert load(tmp_path / "base.toml").repo == "lab/base"
    assert variant.repo is None
    assert "repo" not in variant.settings()
    assert load("sample-2025").repo is not None
    with pytest.raises(EditionError, match=r"repo: 'lab' is no ORG/NAME"):
        load(_write(tmp_path, "w", BASE + 'repo = "lab"'))


@pytest.mark.parametrize("key", ["band_edges_hours", "band_weights", "pool_cap_hours", "split_cap_hours"])
@pytest.mark.parametrize("value", ["0", '"x"', "[]", "{}", '["a"]', "[[1]]", "true", "nan"])
@pytest.mark.parametrize("more", ["", "split_cap_hours = 24", "pool_cap_hours = 24"])
def test_a_ladder_of_another_kind_is_refused_by_file_and_key_also_below_another_file(tmp_path, key, value, more):
    if more.startswith(key):
        more = ""
    _write(tmp_path, "base", BASE + f"{key} = {value}\n")
    for name, text in (("base", ""), ("over", f'extends = "base"\n{more}\n')):
        place = _write(tmp_path, name, text) if text else tmp_path / f"{name}.toml"
        with pytest.raises(EditionError, match=rf"{name}\.toml: (band|pool|split)_"):
            load(place)
