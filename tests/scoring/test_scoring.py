"""A measured value against a pinned target: the answer, its arithmetic, and what code cannot grade."""

from __future__ import annotations

import csv
import json
import math
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import compute, scoring
from pipeline.scoring import (
    OUTSIDE,
    UNGRADEABLE,
    WITHIN,
    Bar,
    ScoreError,
    Target,
    holds,
    measured,
    published_bar,
    score,
)

POINT = Bar("point_estimate", "within", 79.1, 3.955, "default_relative", unit="%")


def target(bar: Bar | None, paper: str = "2505.00001", **more: str) -> Target:
    told = {"split": "eval", "tier": "Easy", "band": "0-8", "metric": "accuracy", **more}
    return Target(paper=paper, bar=bar, **told)


def answer(bar: Bar, *values: str | float) -> str:
    return score(target(bar), values).answer


@pytest.mark.parametrize(
    ("bar", "inside", "outside"),
    [
        (POINT, 75.2, 75.1),
        (Bar("point_estimate", "within", 77.0, 1.8, "authors"), 75.2, 75.19),
        (Bar("direction", ">", 59.5), 59.51, 59.5),
        (Bar("direction", "<", 4.9), 4.89, 4.9),
        (Bar("threshold", ">=", 0.92), 0.92, 0.919),
        (Bar("threshold", "<=", 16.17), 16.17, 16.18),
        (Bar("magnitude", "within", 7.0, 0.35, "default_relative"), 6.65, 6.64),
        (Bar("range", "between", low=0.8, high=1.0), 1.0, 1.01),
        (Bar("point_estimate", "within", 0.01, 0.0025, "absolute"), 0.0125, 0.013),
    ],
)
def test_every_kind_of_bar_has_an_inside_and_an_outside(bar, inside, outside):
    assert answer(bar, inside) == WITHIN
    assert answer(bar, outside) == OUTSIDE


def test_the_arithmetic_is_shown_and_nothing_is_called_reproduced():
    said = score(target(POINT), [78.2])
    assert "|78.2 - 79.1| = 0.9 <= 3.955 % (5 % of it)" in said.arithmetic
    assert {WITHIN, OUTSIDE, UNGRADEABLE} == {"within_bar", "outside_bar", "ungradeable"}


def test_percent_is_read_in_the_targets_unit():
    assert score(target(POINT), ["78.2%"]).measured == 78.2
    fraction = Bar("point_estimate", "within", 0.791, 0.04)
    assert score(target(fraction), ["78.2%"]).measured == pytest.approx(0.782)
    signless = Bar("point_estimate", "within", 79.1, 4.0)
    assert score(target(signless), ["78.2%"]).measured == 78.2


def test_a_fraction_against_percent_is_outside_and_says_what_may_be_meant():
    said = score(target(POINT), [0.782])
    assert said.answer == OUTSIDE
    assert "a hundredth of the target" in said.arithmetic


def test_units_of_one_kind_convert_and_others_are_refused_by_name():
    latency = Bar("point_estimate", "within", 250.0, 12.5, unit="ms")
    assert score(target(latency), ["0.26 s"]).answer == WITHIN
    memory = Bar("point_estimate", "within", 8.56, 0.43, unit="kB")
    assert score(target(memory), ["8600 B"]).measured == pytest.approx(8.6)
    with pytest.raises(ScoreError, match=r"paper 2505.00001.*'s'.*'kB'"):
        score(target(memory), ["3 s"])


@pytest.mark.parametrize("value", ["nan", "inf", "", "about right", "12 of 15", True, None, "1e999"])
def test_what_is_no_finite_number_is_an_error_and_no_miss(value):
    with pytest.raises(ScoreError, match=r"2505\.00001"):
        score(target(POINT), [value])


def test_seeds_are_averaged_and_their_spread_says_how_firm_the_answer_is():
    close, wide = score(target(POINT), [78.0, 78.4, 78.2]), score(target(POINT), [70.0, 84.0, 78.0])
    assert (close.answer, close.firm) == (WITHIN, True)
    assert (wide.answer, wide.firm) == (WITHIN, False)
    assert score(target(POINT), [78.0]).firm is None
    assert score(target(POINT), ["78.0 +/- 0.2"]).firm is True
    assert score(target(POINT), ["75.2 +/- 1"]).firm is False


def test_an_interval_that_holds_the_whole_bar_is_not_firmly_outside():
    said = score(target(Bar("point_estimate", "within", 10.0, 0.1)), ["11 +/- 5"])
    assert (said.answer, said.firm) == (OUTSIDE, False)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_the_mean_of_seeds_lies_in_its_interval(values):
    found = scoring.measured(values, Bar("point_estimate", "within", 1.0, 0.1))
    assert found.value == pytest.approx(statistics.fmean(values), abs=1e-9)
    if found.low is not None:
        assert found.low <= found.value <= found.high


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9), st.floats(-1e9, 1e9))
def test_moving_toward_the_reference_never_leaves_the_bar(reference, tolerance, x):
    bar = Bar("point_estimate", "within", reference, tolerance)
    if holds(bar, x):
        assert holds(bar, reference + (x - reference) / 2)


@pytest.mark.parametrize("values", [["1e308", "1e308"], [1e308, -1e308, 1], ["1 +/- 1e308", 10**400], ["1e308 s"]])
def test_numbers_that_nothing_can_be_counted_with_are_an_error_too(values):
    with pytest.raises(ScoreError, match=r"2505\.00001"):
        score(target(Bar("point_estimate", "within", 79.1, 3.955, unit="ms")), values)


def test_the_share_that_is_shown_is_the_editions_and_an_absolute_tolerance_is_called_so():
    wide = Bar("point_estimate", "within", 80.0, 8.0, "default_relative")
    assert "<= 8 (10 % of it)" in score(target(wide), [75]).arithmetic
    small = Bar("point_estimate", "within", 0.0, 0.0025, "absolute")
    assert "<= 0.0025 (absolute, for a value near zero)" in score(target(small), [0.001]).arithmetic


def test_a_fraction_against_percent_printed_without_its_sign_says_what_may_be_meant_too():
    said = score(target(Bar("point_estimate", "within", 79.1, 3.955)), [0.782])
    assert said.answer == OUTSIDE
    assert "multiply it by 100" in said.arithmetic


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"op": "near"}, "no operator"),
        ({"op": None}, "no operator"),
        ({"tolerance": -1.0}, "lacks a number"),
        ({"reference": "79.1"}, "lacks a number"),
        ({"reference": True}, "lacks a number"),
        ({"reference": float("nan")}, "lacks a number"),
    ],
)
def test_a_bar_that_says_no_such_thing_is_ungradeable_by_name(part, reason):
    bar = {"kind": "point_estimate", "op": "within", "reference": 79.1, "tolerance": 4.0, "tolerance_source": None}
    found, said = scoring.bar_of({"unit": "%", "bar": {**bar, "low": None, "high": None, **part}})
    assert found is None
    assert reason in said


# Published strings


@pytest.mark.parametrize(
    ("kind", "value", "metric", "op", "numbers"),
    [
        ("point_estimate", "77.0 +/- 1.8%", "accuracy (%)", "within", (77.0, 1.8)),
        ("point_estimate", "79.1 (±0.3)", "accuracy (%)", "within", (79.1, 0.3)),
        ("point_estimate", "79.1 \\pm 0.3", "accuracy (%)", "within", (79.1, 0.3)),
        ("point estimate", "1,234.5", "steps", "within", (1234.5, 61.725)),
        ("point_estimate", "-0.20", "bias", "within", (-0.2, 0.01)),
        ("magnitude", "~10x lower variance than the baseline", "variance", "within", (10.0, 0.5)),
        ("threshold", "AUC >= 0.92 (paper 0.933)", "AUC", ">=", (0.92, None)),
        ("threshold", "16.17", "perplexity (lower is better)", "<=", (16.17, None)),
        ("direction", "79.30% (LoRA) vs 81.94% (full)", "accuracy (%)", "<", (81.94, None)),
    ],
)
def test_published_strings_give_a_bar_where_they_say_enough(kind, value, metric, op, numbers):
    bar, reason = published_bar({"value": value, "metric": metric, "match_bar_kind": kind})
    assert reason == ""
    assert bar.op == op
    assert bar.reference == numbers[0]
    assert bar.tolerance is None if numbers[1] is None else math.isclose(bar.tolerance, numbers[1])


@pytest.mark.parametrize(("value", "unit"), [("0.7 to 0.9", ""), ("70-90 %", "%"), ("70% - 90%", "%")])
def test_the_unit_of_a_published_range_is_no_part_of_its_numbers(value, unit):
    bar, _ = published_bar({"value": value, "match_bar_kind": "range", "metric": "AUC"})
    assert bar.unit == unit
    assert score(target(bar), [bar.low]).arithmetic.endswith(f"{bar.high:g}{' %' if unit else ''}: True")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("direction", "59.53%", "a direction without its reference"),
        ("threshold", "7.5", "a threshold without its operator"),
        ("range", "about 0.8", "a range without two ends"),
        ("point_estimate", "negligible bias and variance", "prose, not a number"),
        ("point_estimate", "0.00", "a value near zero without an absolute tolerance"),
        ("unset", "12", "no kind of bar (unset)"),
    ],
)
def test_published_strings_that_say_too_little_are_ungradeable_by_name(kind, value, reason):
    assert published_bar({"value": value, "metric": "score", "match_bar_kind": kind}) == (None, reason)


def test_most_targets_of_the_published_splits_are_numbers_and_the_rest_is_counted(published: Path):
    for name, least in (("eval100_first_half.csv", 0.8), ("dev14.csv", 0.8)):
        with (published / name).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        said = [
            published_bar({"value": r["target_value"], "metric": r["metric"], "match_bar_kind": r["bar_kind"]})
            for r in rows
        ]
        prose = sum(reason.startswith(("prose", "no kind")) for _, reason in said)
        assert 1 - prose / len(rows) >= least
        assert all((bar is None) == bool(reason) for bar, reason in said)


# Tables and the command


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Four rows: two graded exactly, one from its strings, one that code cannot grade."""

    def row(paper: str, tier: str, band: str, value: str) -> str:
        match = {"config": "c", "metric": "accuracy (%)", "value": value, "scope": "", "match_bar_kind": "direction"}
        return json.dumps({"custom_id": paper, "tier": tier, "h100_band": band, "split": "eval", "match_target": match})

    rows = [row("a", "Easy", "0-8", "79.1"), row("b", "Easy", "8-32", "60"), row("c", "Medium", "0-8", "8% vs 7%")]
    (tmp_path / "eval.jsonl").write_text("\n".join([*rows, row("d", "Medium", "0-8", "better")]) + "\n")
    bar = {"kind": "point_estimate", "op": "within", "reference": 79.1, "tolerance": 3.955, "low": None, "high": None}
    exact = [{"custom_id": paper, "unit": "%", "bar": bar} for paper in ("a", "b")]
    (tmp_path / "targets.jsonl").write_text("\n".join(map(json.dumps, exact)) + "\n")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-I", "-S", str(Path(scoring.__file__)), *arguments]  # no site-packages: nothing else
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_file_alone_scores_a_release_without_any_installation(release: Path):
    status, out, _ = run(str(release), "--paper", "a", "--value", "78.2%", "--json")
    assert status == 0
    assert json.loads(out)["answer"] == WITHIN


def test_a_missing_run_is_a_miss_and_denominators_are_the_splits_counts(release: Path, tmp_path: Path):
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"paper": "a", "value": [78.0, 79.0]}\n{"paper": "c", "value": 6.5}\n{"paper": "d", "value": 3}\n')
    known = scoring.targets(release)
    verdicts = {paper: score(known[paper], values) for paper, values in scoring.results(mine).items()}
    lines = {(x.tier, x.band): x for x in scoring.table(known, verdicts)}
    everything = lines["all", "all"]
    counted = (everything.n, everything.within, everything.outside, everything.missing, everything.ungradeable)
    assert counted == (4, 1, 1, 1, 1)
    assert lines["Easy", "8-32"].missing == 1
    assert sum(x.n for (_, band), x in lines.items() if band != "all") == 4
    assert everything.low < 0.25 < everything.high


def test_a_results_file_in_csv_has_one_line_a_seed(tmp_path: Path):
    mine = tmp_path / "mine.csv"
    mine.write_text("paper,value\na,78.0\na,79.0\n")
    assert scoring.results(mine) == {"a": ["78.0", "79.0"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"paper": "z", "value": 1}', "not in the split: z"),
        ('{"paper": "a", "value": 1}\n{"paper": "a", "value": 2}', "paper a has two results"),
        ('{"paper": "a"}', "needs the fields paper and value"),
        ("nonsense", "no JSON Lines file"),
    ],
)
def test_a_results_file_that_does_not_fit_is_refused_by_name(release: Path, tmp_path: Path, lines: str, message: str):
    mine = tmp_path / "mine.jsonl"
    mine.write_text(lines)
    status, out, err = run(str(release), "--results", str(mine))
    assert (status, out) == (1, "")
    assert message in err


def test_a_spreadsheets_csv_is_read_and_what_is_none_is_refused_by_name(tmp_path: Path):
    mine = tmp_path / "MINE.CSV"
    mine.write_bytes(b"\xef\xbb\xbfpaper,value\r\na,78.0\r\n")
    assert scoring.results(mine) == {"a": ["78.0"]}
    for junk in (b"paper,value\na,\xff\n", b'paper,value\na,"' + b"9" * 200_000 + b'"\n'):
        mine.write_bytes(junk)
        with pytest.raises(ScoreError, match=r"MINE\.CSV is no CSV file"):
            scoring.results(mine)


def asked(release: Path, *arguments: str, capsys) -> tuple[int, str]:
    status = scoring.main([str(release), *arguments])
    out, err = capsys.readouterr()
    return status, out + err


def test_arguments_that_would_be_passed_over_are_refused(release: Path, capsys):
    assert asked(release, "--value", "3", capsys=capsys) == (
        1,
        "score: --value is of one paper: name it with --paper\n",
    )
    status, said = asked(release, "--paper", "a", "--value", "3", "--results", "x.jsonl", capsys=capsys)
    assert (status, "give one of them" in said) == (1, True)


def test_a_release_with_two_rows_of_a_paper_or_lines_of_another_shape_is_refused(release: Path, tmp_path: Path, capsys):
    lines = (release / "eval.jsonl").read_text().splitlines()
    for name, text, said in (
        ("eval.jsonl", "\n".join([*lines, lines[0]]), "has two rows"),
        ("eval.jsonl", '[1]\n{"custom_id": "a"}', "a row lacks"),
        ("targets.jsonl", "[1]", "a line lacks"),
        ("eval.jsonl", "[" * 100_000, "no JSON Lines file"),
    ):
        copy = shutil.copytree(release, tmp_path / f"{name}{len(text)}")
        (copy / name).write_text(text)
        status, told = asked(copy, capsys=capsys)
        assert (status, said in told) == (1, True), told


def test_no_word_of_a_release_draws_on_a_terminal(release: Path, tmp_path: Path, capsys):
    copy = shutil.copytree(release, tmp_path / "copy")
    rows = [json.loads(line) for line in (copy / "eval.jsonl").read_text().splitlines()]
    rows[0]["match_target"]["metric"] = "acc\x1b[2J\ud800\na  within_bar"
    (copy / "eval.jsonl").write_text("\n".join(map(json.dumps, rows)))
    status, said = asked(copy, "--paper", str(rows[0]["custom_id"]), "--value", "3", capsys=capsys)
    assert status == 0
    assert "\x1b" not in said
    assert "\\x1b[2J\\ud800 a  within_bar".replace("  ", " ") in said


def test_the_command_tells_what_code_cannot_grade(release: Path):
    status, out, _ = run(str(release))
    assert status == 0
    assert "3 of 4 targets can be graded by code" in out
    assert "1 prose, not a number" in out


def rounded(cell: str) -> float:
    """Hours as the published tables print them; "<0.01" is a row of less than a hundredth, 0 where hours are summed."""
    return 0.0 if cell.startswith("<") else float(cell)


def test_bands_follow_from_the_published_hours_and_dev_sums_to_what_its_cells_say(published: Path):
    sums = {}
    for name in ("eval100_first_half.csv", "dev14.csv"):
        with (published / name).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert [compute.band(rounded(r["audited_h100_hours"]), (8.0, 32.0, 96.0)) for r in rows] == [
            r["band"] for r in rows
        ]
        sums[name] = sum(rounded(r["audited_h100_hours"]) for r in rows)
    assert round(sums["dev14.csv"], 2) == 26.90


@pytest.mark.parametrize("kind", ["point_estimate", "magnitude", "threshold", "direction", "range"])
@pytest.mark.parametrize(
    "value", ["E5", "e3", "1e999", "-1e400 vs. 1e400", ">= 1e999", "1e998 - 1e999", "9" * 400, "9" * 5000]
)
def test_what_is_no_number_or_none_to_count_with_is_no_bar_and_costs_no_other_row(kind: str, value: str):
    bar, reason = published_bar({"value": value, "metric": "accuracy", "match_bar_kind": kind})
    assert bar is None
    assert reason


@pytest.mark.parametrize("value", ["E5", "e3 %", "9" * 5000, "80 ± E5"])
def test_a_measured_value_that_is_no_number_is_refused_in_a_sentence(value: str):
    bar, _ = published_bar({"value": "80", "metric": "accuracy", "match_bar_kind": "point_estimate"})
    assert bar is not None
    with pytest.raises(ScoreError, match="is no finite number"):
        measured([value], bar)


@pytest.mark.parametrize(
    ("value", "metric", "kind", "op", "numbers", "unit"),
    [
        ("80.5 vs. 70", "accuracy", "direction", ">", (70.0, None), ""),
        ("0.5 versus 0.6", "error", "direction", "<", (0.6, None), ""),
        ("0.5 against 0.4", "accuracy", "direction", ">", (0.4, None), ""),
        ("80.5 on CIFAR", "accuracy (%)", "point_estimate", "within", (80.5, None), "%"),
        ("12.3 in total", "steps", "point_estimate", "within", (12.3, None), ""),
        ("30.2 dB", "PSNR", "point_estimate", "within", (30.2, None), "dB"),
        (">= 80 ms", "latency", "threshold", ">=", (80.0, None), "ms"),
        ("<= 5", "error (%)", "threshold", "<=", (5.0, None), "%"),
        ("1.5 to 2.5 ms", "latency", "range", "between", (1.5, 2.5), "ms"),
        ("1.5 to 2.5 on average", "speed-up", "range", "between", (1.5, 2.5), ""),
    ],
)
def test_a_unit_is_read_behind_every_kind_of_number_and_no_word_of_a_sentence_is_one(
    value: str, metric: str, kind: str, op: str, numbers: tuple[float, float | None], unit: str
):
    bar, reason = published_bar({"value": value, "metric": metric, "match_bar_kind": kind})
    assert bar is not None, reason
    ends = (bar.low, bar.high) if bar.op == "between" else (bar.reference, None)
    assert (bar.op, ends, bar.unit) == (op, numbers, unit)
