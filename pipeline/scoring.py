"""Hold measured values against a release's match targets. Standard library only: a release carries this file as
`score.py`, so that using a benchmark needs no installation.

    python score.py --paper 2505.90011 --value 79.1          one result
    python score.py --paper 2505.90011 --value 78.9 --value 79.4     one result over seeds
    python score.py --results mine.jsonl --split eval        a table by tier and band

The answer is `within_bar`, `outside_bar` or `ungradeable`, with its arithmetic. It is never "reproduced": where a value
came from is not checked here.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

WITHIN, OUTSIDE, UNGRADEABLE = "within_bar", "outside_bar", "ungradeable"
RELATIVE = 0.05
"""Default tolerance as a share of the printed value (benchmark paper: match bars)."""
NEAR_ZERO = 0.05
"""Below this share of the unit's scale a relative tolerance means nothing."""
LONGEST = 400
"""Characters above which a text is no number: what follows would look at each of them many times."""
Z95 = 1.959963984540054
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131)
"""Two-sided 95 % of Student's t for 1 to 15 degrees of freedom; the normal's from there."""

_SIZES: Mapping[str, tuple[str, float]] = {
    "s": ("s", 1.0),
    "sec": ("s", 1.0),
    "seconds": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "min": ("s", 60.0),
    "minutes": ("s", 60.0),
    "h": ("s", 3600.0),
    "hours": ("s", 3600.0),
    "b": ("bytes", 1.0),
    "kb": ("bytes", 1e3),
    "mb": ("bytes", 1e6),
    "gb": ("bytes", 1e9),
    "tb": ("bytes", 1e12),
    "kib": ("bytes", 2.0**10),
    "mib": ("bytes", 2.0**20),
    "gib": ("bytes", 2.0**30),
    "x": ("times", 1.0),
    "×": ("times", 1.0),
    "times": ("times", 1.0),
}
_NUMBER = r"[-+−–]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
_UNIT = (
    r"(?P<unit>%|×|x\b|(?!(?:vs|versus|against|compared|than|on|in|at|of|for|to|with|and|or|the|is|by|from|over|under"
    r"|per|as|when|after|out|if)\b)[a-zA-Zµ]{1,7}\b)"
)
"""What stands behind a number and is no word of a sentence."""
_VALUE = re.compile(
    rf"^\s*(?P<about>~|≈|about\s|approx\.?\s|approximately\s)?\s*(?P<number>{_NUMBER})\s*"
    rf"(?:(?:\(\s*)?(?:\+/-|±|\+-|\\pm)\s*(?P<spread>{_NUMBER})\s*\)?\s*)?{_UNIT}?(?P<rest>.*)$",
    re.DOTALL,
)
_OPERATOR = re.compile(rf"(?P<op>>=|<=|≥|≤|>|<)\s*(?P<number>{_NUMBER})\s*{_UNIT}?")
_RANGE = re.compile(rf"(?P<low>{_NUMBER})\s*%?\s*(?:-|–|—|to)\s*(?P<high>{_NUMBER})\s*{_UNIT}?")
_VERSUS = re.compile(rf"\b(?:vs\.?|versus|against|compared (?:to|with))\s*(?:~|≈)?\s*(?P<number>{_NUMBER})")


class ScoreError(Exception):
    """Something the user must mend: an unknown paper, a value that is no number, a file of another shape."""


@dataclass(frozen=True)
class Bar:
    """What a measured value is held against, in the target's unit. See `holds` for the operators."""

    kind: str
    op: str
    reference: float | None = None
    tolerance: float | None = None
    tolerance_source: str | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class Measured:
    """A measured value in the target's unit: the mean over seeds. `low`, `high`: its 95 % interval, from the seeds or
    the uncertainty that was stated (one standard error); None for a single value."""

    value: float
    n: int = 1
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """`firm`: whether the whole 95 % interval of the measured value gives this answer; None without an interval."""

    paper: str
    answer: str
    arithmetic: str
    measured: float | None = None
    firm: bool | None = None


@dataclass(frozen=True)
class Target:
    """One row of a split as the scorer needs it. `bar` is None where code cannot grade it; `reason` says why."""

    paper: str
    split: str
    tier: str
    band: str
    metric: str
    bar: Bar | None
    reason: str = ""


# Bars


def holds(bar: Bar, x: float) -> bool:
    """Whether `x` is inside the bar. Limits belong to it, but for a strict direction."""
    slack = 1e-9
    if bar.op == "between":
        low, high = _known(bar.low), _known(bar.high)
        return low - slack * abs(low) <= x <= high + slack * abs(high)
    reference = _known(bar.reference)
    if bar.op == "within":
        tolerance = _known(bar.tolerance)
        return abs(x - reference) <= tolerance * (1 + slack)
    return {">": x > reference, "<": x < reference, ">=": x >= reference, "<=": x <= reference}[bar.op]


def shown(bar: Bar, x: float) -> str:
    """The arithmetic of `holds`, for people."""
    unit = f" {bar.unit}" if bar.unit else ""
    if bar.op == "between":
        return f"{bar.low:g} <= {x:g} <= {bar.high:g}{unit}: {holds(bar, x)}"
    if bar.op == "within":
        reference, tolerance = _known(bar.reference), _known(bar.tolerance)
        source = {
            "authors": "the authors' own",
            "default_relative": f"{100 * tolerance / abs(reference):.3g} % of it" if reference else "",
            "absolute": "absolute, for a value near zero",
        }.get(bar.tolerance_source or "", "")
        named = f" ({source})" if source else ""
        apart = abs(x - reference)
        return f"|{x:g} - {reference:g}| = {apart:g} <= {tolerance:g}{unit}{named}: {holds(bar, x)}"
    return f"{x:g} {bar.op} {bar.reference:g}{unit}: {holds(bar, x)}"


def _known(number: float | None) -> float:
    if number is None or not math.isfinite(number):
        raise ScoreError("a bar lacks a number")
    return number


def bar_of(target: Mapping[str, Any]) -> tuple[Bar | None, str]:
    """The bar of a machine-readable target (table `targets`), or why there is none."""
    said = target["bar"]
    if isinstance(said, str):  # read from Parquet by something that keeps objects as JSON
        said = json.loads(said)
    bar = Bar(unit=target.get("unit") or "", **{k: said.get(k) for k in Bar.__dataclass_fields__ if k != "unit"})
    if bar.op not in ("within", "between", ">", ">=", "<", "<="):
        return None, f"its {bar.kind} bar has no operator"
    needed = {"between": (bar.low, bar.high), "within": (bar.reference, bar.tolerance)}.get(bar.op, (bar.reference,))
    if not all(_is_number(number) for number in needed) or (bar.tolerance or 0) < 0:
        return None, f"its {bar.kind} bar lacks a number"
    return bar, ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def published_bar(match_target: Mapping[str, Any]) -> tuple[Bar | None, str]:
    """The bar that the published strings of a target give (fields `value`, `match_bar_kind`, `metric`), or why they
    give none: prose instead of a number, a direction without its reference, a threshold without its operator, a range
    without two ends, a value near zero without an absolute tolerance, a number too large to count with."""
    bar, reason = _printed_bar(match_target)
    if bar is not None and any(n is not None and not math.isfinite(n) for n in (*_ends(bar), bar.tolerance)):
        return None, "a number too large to count with"
    return bar, reason


def _ends(bar: Bar) -> tuple[float | None, float | None, float | None]:
    return bar.reference, bar.low, bar.high


def _printed_bar(match_target: Mapping[str, Any]) -> tuple[Bar | None, str]:
    text = str(match_target.get("value") or "").strip()
    metric = str(match_target.get("metric") or "")
    kind = str(match_target.get("match_bar_kind") or "").strip().lower().replace(" ", "_")
    if kind not in ("point_estimate", "direction", "threshold", "magnitude", "range"):
        return None, f"no kind of bar ({kind or 'nothing'})"
    if len(text) > LONGEST:
        return None, "prose, not a number"
    if kind == "range":
        ends = _RANGE.search(text)
        if ends is None or not _float(ends["low"]) < _float(ends["high"]):
            return None, "a range without two ends"
        unit = _unit("%" if "%" in text else ends["unit"] or "", metric)
        return Bar(kind, "between", low=_float(ends["low"]), high=_float(ends["high"]), unit=unit), ""
    if kind == "threshold":
        said = _OPERATOR.search(text)
        if said is not None:
            op = said["op"].replace("≥", ">=").replace("≤", "<=")
            return Bar(kind, op, _float(said["number"]), unit=_unit(said["unit"] or "", metric)), ""
    found = _VALUE.match(text)
    if found is None:
        return None, "prose, not a number"
    number, unit = _float(found["number"]), _unit(found["unit"] or "", metric)
    if kind == "threshold":
        toward = _toward(metric)
        if toward is None:
            return None, "a threshold without its operator"
        return Bar(kind, toward + "=", number, unit=unit), ""
    if kind == "direction":
        other = _VERSUS.search(found["rest"])
        if other is None or _float(other["number"]) == number:
            return None, "a direction without its reference"
        reference = _float(other["number"])
        return Bar(kind, ">" if number > reference else "<", reference, unit=unit), ""
    if found["spread"]:
        return Bar(kind, "within", number, _float(found["spread"]), "authors", unit=unit), ""
    if abs(number) < NEAR_ZERO * (100.0 if unit == "%" else 1.0):
        return None, "a value near zero without an absolute tolerance"
    return Bar(kind, "within", number, abs(number) * RELATIVE, "default_relative", unit=unit), ""


def _toward(metric: str) -> str | None:
    """The side that a metric says is better."""
    words = metric.lower()
    lower, higher = re.search(r"lower(?: is)? better|\blower\.*$|↓", words), re.search(r"higher|↑", words)
    return None if bool(lower) == bool(higher) else "<" if lower else ">"


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").replace("–", "-"))


def _unit(unit: str, metric: str) -> str:
    return "%" if "%" in unit or (not unit and "%" in metric) else unit


# Measured values


def measured(values: Sequence[str | float], bar: Bar) -> Measured:
    """Values over seeds as one, in the bar's unit. Text may carry a percent sign, a unit, and `+/- s.e.`.

    Raises ScoreError for what is no finite number, or in a unit that does not lead to the bar's.
    """
    if not values:
        raise ScoreError("no value was given")
    read = [_read(value, bar) for value in values]
    notes = "; ".join(dict.fromkeys(note for _, _, note in read if note))
    numbers = [number for number, _, _ in read]
    n = len(numbers)
    try:
        mean = statistics.fmean(numbers)
        if n == 1:
            half = Z95 * read[0][1]
        else:
            half = statistics.stdev(numbers) / math.sqrt(n) * (_T95[n - 2] if n - 2 < len(_T95) else Z95)
    except OverflowError:
        mean = half = math.inf
    if not math.isfinite(mean) or not math.isfinite(half):
        raise ScoreError(f"{', '.join(str(value) for value in values[:3])}: too large to count with")
    reference = bar.reference if bar.reference is not None else bar.high
    if not notes and reference and bar.unit in ("%", "") and math.isclose(mean * 100, reference, rel_tol=0.2):
        notes = "a hundredth of the target: if it is a fraction of what the paper prints in percent, multiply it by 100"
    return Measured(mean, n, mean - half if half else None, mean + half if half else None, notes)


def _read(value: str | float, bar: Bar) -> tuple[float, float, str]:
    """(number, standard error, note) of one value, in the bar's unit."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ScoreError(f"{value!r} is no number")
    text = str(value).strip()
    found = _VALUE.match(text) if len(text) <= LONGEST else None
    if found is None or found["rest"].strip() or not math.isfinite(_float(found["number"])):
        raise ScoreError(f"{value!r} is no finite number with an optional unit")
    factor, note = _factor((found["unit"] or "").strip(), bar)
    return _float(found["number"]) * factor, _float(found["spread"] or "0") * factor, note


def _factor(unit: str, bar: Bar) -> tuple[float, str]:
    """What a value in `unit` is multiplied by to be in the bar's unit. A bare number is in the bar's unit already."""
    theirs, mine = bar.unit.strip(), unit
    if not mine or mine.lower() == theirs.lower():
        return 1.0, ""
    if mine == "%":
        top = max((abs(n) for n in _ends(bar) if n is not None), default=0.0)
        if not theirs and top > 1.0:
            return 1.0, "the paper prints this percentage without its sign"
        if not theirs:
            return 0.01, "percent, read as a fraction"
    a, b = _SIZES.get(mine.lower()), _SIZES.get(theirs.lower())
    if a is not None and b is not None and a[0] == b[0]:
        return a[1] / b[1], f"{mine} in {theirs}"
    if a is not None and a[0] == "times" and not theirs:
        return 1.0, ""
    raise ScoreError(f"a value in {mine!r} cannot be held against a target in {theirs or 'no unit'!r}")


def score(target: Target, values: Sequence[str | float]) -> Verdict:
    """Hold one result (a value, or one for each seed) against its target."""
    if target.bar is None:
        return Verdict(target.paper, UNGRADEABLE, target.reason)
    try:
        found = measured(values, target.bar)
    except ScoreError as error:
        raise ScoreError(f"paper {target.paper}: {error}") from None
    inside = holds(target.bar, found.value)
    text = shown(target.bar, found.value)
    if found.n > 1:
        text = f"mean of {found.n} = {found.value:g}; {text}"
    if found.note:
        text = f"{text} ({found.note})"
    firm = None
    if found.low is not None and found.high is not None:
        firm = all(holds(target.bar, end) is inside for end in (found.low, found.high)) and not _straddles(
            target.bar, found.low, found.high, inside
        )
        text = f"{text}; 95 % interval {found.low:g} to {found.high:g}"
    return Verdict(target.paper, WITHIN if inside else OUTSIDE, text, found.value, firm)


def _straddles(bar: Bar, low: float, high: float, inside: bool) -> bool:
    """Whether an interval outside the bar has the whole bar between its ends."""
    middle = bar.reference if bar.reference is not None else (_known(bar.low) + _known(bar.high)) / 2
    return not inside and bar.op in ("within", "between") and low < middle < high


# Releases


def targets(release: Path) -> dict[str, Target]:
    """The targets of a release folder by paper, or of a JSON Lines file of published rows (whose targets are strings).

    Raises ScoreError for anything else.
    """
    if release.is_file():
        rows = _json_lines(release)
    else:
        rows = [row for split in ("eval", "dev") for row in _json_lines(release / f"{split}.jsonl", absent=True)]
    if not rows:
        raise ScoreError(f"{release} is no release folder and no JSON Lines file of rows")
    exact: dict[str, Mapping[str, Any]] = {}
    try:
        if release.is_dir():
            exact = {line["custom_id"]: line for line in _json_lines(release / "targets.jsonl", absent=True)}
    except (KeyError, TypeError) as error:
        raise ScoreError(f"{release / 'targets.jsonl'}: a line lacks {error}") from None
    found: dict[str, Target] = {}
    for row in rows:
        try:
            paper, said = str(row["custom_id"]), row["match_target"]
            if paper in found:
                raise ScoreError(f"{release}: paper {paper} has two rows; whoever made this is to say which one counts")
            bar, reason = bar_of(exact[paper]) if paper in exact else published_bar(said)
            found[paper] = Target(
                paper,
                str(row.get("split", "")),
                str(row["tier"]),
                str(row["h100_band"]),
                str(said["metric"]),
                bar,
                reason,
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ScoreError(f"{release}: a row lacks what it is scored by ({error})") from None
    return found


def _json_lines(path: Path, absent: bool = False) -> list[dict[str, Any]]:
    if absent and not path.is_file():
        return []
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ScoreError(f"{path} is no JSON Lines file: {error}") from None


def results(path: Path) -> dict[str, list[str | float]]:
    """Results by paper: JSON Lines with `paper` and `value` (a number, a text, or a list over seeds), or CSV with those
    columns, one line a seed. A paper named twice in JSON Lines is an error: which one counts is its owner's to say."""
    found: dict[str, list[str | float]] = {}
    if path.suffix.lower() == ".csv":
        try:
            with path.open(encoding="utf-8-sig", newline="") as lines:  # spreadsheets begin a file with a mark
                rows = list(csv.DictReader(lines))
        except (ValueError, csv.Error) as error:
            raise ScoreError(f"{path} is no CSV file: {error}") from None
        for row in rows:
            if not row.get("paper") or not row.get("value"):
                raise ScoreError(f"{path}: every line needs the columns paper and value")
            found.setdefault(row["paper"].strip(), []).append(row["value"])
        return found
    for line in _json_lines(path):
        if not isinstance(line, dict) or "paper" not in line or "value" not in line:
            raise ScoreError(f"{path}: every line needs the fields paper and value")
        paper, value = str(line["paper"]), line["value"]
        if paper in found:
            raise ScoreError(f"{path}: paper {paper} has two results; give its seeds as a list")
        found[paper] = list(value) if isinstance(value, list) else [value]
    return found


# Tables


@dataclass(frozen=True)
class Line:
    """How many of a split's papers a set of results reaches. `n` is the split's count: a missing run is a miss, and so
    is a target that code cannot grade. `low`, `high`: Wilson's 95 % interval of within / n."""

    tier: str
    band: str
    n: int
    within: int
    outside: int
    missing: int
    ungradeable: int
    low: float
    high: float


def table(known: Mapping[str, Target], verdicts: Mapping[str, Verdict]) -> list[Line]:
    """Lines by tier and band, then by tier, then overall ("all")."""
    groups: dict[tuple[str, str], list[str]] = {}
    for paper in sorted(known):
        tier, band = known[paper].tier, known[paper].band
        for key in ((tier, band), (tier, "all"), ("all", "all")):
            groups.setdefault(key, []).append(paper)
    order = {"Easy": 0, "Medium": 1, "Hard": 2, "all": 9}
    lines = []
    for tier, band in sorted(groups, key=lambda k: (order.get(k[0], 5), k[1] == "all", _band_start(k[1]), k[1])):
        papers = groups[tier, band]
        said = Counter(verdicts[p].answer if p in verdicts else "missing" for p in papers)
        low, high = wilson(said[WITHIN], len(papers))
        lines.append(
            Line(tier, band, len(papers), said[WITHIN], said[OUTSIDE], said["missing"], said[UNGRADEABLE], low, high)
        )
    return lines


def _band_start(band: str) -> float:
    found = re.match(r"\d+(?:\.\d+)?", band)
    return float(found[0]) if found else math.inf


def wilson(k: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval for k of n (Wilson 1927), as shares; (0, 1) where nothing was counted.

    It stays inside 0 and 1 and says something at k = 0 and k = n, where the normal interval collapses to a point.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if n == 0:
        return 0.0, 1.0
    share, square = k / n, z * z / n
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return (0.0 if k == 0 else middle - half), (1.0 if k == n else middle + half)


def render(lines: Sequence[Line]) -> str:
    head = f"{'tier':8} {'band':8} {'n':>4} {'within':>7} {'outside':>8} {'missing':>8} {'ungraded':>9}   share (95 %)"
    body = [
        f"{x.tier:8} {x.band:8} {x.n:4} {x.within:7} {x.outside:8} {x.missing:8} {x.ungradeable:9}"
        f"   {x.within / x.n:5.1%} ({x.low:.1%} to {x.high:.1%})"
        for x in lines
    ]
    return "\n".join([head, *body])


# The command


def main(argv: Sequence[str] | None = None, here: Path | None = None) -> int:
    """Score from the command line. `here`: the release, where the first argument does not name it."""
    parser = argparse.ArgumentParser(prog="score", description="Hold measured values against a release's targets.")
    add_arguments(parser, here)
    return command(parser.parse_args(argv))


def add_arguments(parser: argparse.ArgumentParser, here: Path | None = None) -> None:
    parser.add_argument("release", type=Path, nargs="?", default=here, help="release folder, or a file of rows")
    parser.add_argument("--paper", metavar="ID")
    parser.add_argument("--value", action="append", default=[], help="a number, a unit may follow; repeat for seeds")
    parser.add_argument("--results", type=Path, metavar="FILE", help="JSON Lines or CSV with paper and value")
    parser.add_argument("--split", choices=["eval", "dev"], help="score against one split only")
    parser.add_argument("--json", action="store_true")


def command(arguments: argparse.Namespace) -> int:
    """Print the answer; exit code 1, with one line on stderr, where the user must mend something."""
    try:
        if arguments.release is None:
            raise ScoreError("name a release folder")
        if arguments.value and not arguments.paper:
            raise ScoreError("--value is of one paper: name it with --paper")
        if arguments.paper and arguments.results:
            raise ScoreError("--paper holds one result against its target, --results a whole file: give one of them")
        known = targets(arguments.release)
        if arguments.split:
            known = {paper: t for paper, t in known.items() if t.split == arguments.split}
        print(_printable(_one(known, arguments) if arguments.paper else _all(known, arguments)))
    except (ScoreError, OSError) as error:
        print(_printable(f"score: {error}"), file=sys.stderr)
        return 1
    return 0


def _printable(text: str) -> str:
    """Nothing that a release or a file says draws on a terminal: what does not print stands escaped."""
    text = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    return text.encode("ascii", "backslashreplace").decode() if _narrow() else text


def _narrow() -> bool:
    """Whether this terminal cannot show every letter."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"


def _one(known: Mapping[str, Target], arguments: argparse.Namespace) -> str:
    target = known.get(arguments.paper)
    if target is None:
        raise ScoreError(f"paper {arguments.paper} is not in {arguments.split or 'a split of'} {arguments.release}")
    verdict = score(target, arguments.value)
    if arguments.json:
        return json.dumps(asdict(verdict))
    metric = " ".join(target.metric.split())
    return f"{verdict.paper}  {verdict.answer}{_firmness(verdict)}\n  {metric}\n  {verdict.arithmetic}"


def _firmness(verdict: Verdict) -> str:
    return " (not firm: its interval reaches the other side)" if verdict.firm is False else ""


def _all(known: Mapping[str, Target], arguments: argparse.Namespace) -> str:
    """The table of a results file; without one, what code can grade and what not."""
    given = {} if arguments.results is None else results(arguments.results)
    strangers = sorted(set(given) - set(known))
    if strangers:
        raise ScoreError(f"{arguments.results}: not in the split: {', '.join(strangers)}")
    if arguments.results is None:
        reasons = Counter(t.reason for t in known.values() if t.bar is None)
        told = {"targets": len(known), "gradeable": len(known) - sum(reasons.values()), "ungradeable": dict(reasons)}
        if arguments.json:
            return json.dumps(told)
        lines = [f"  {n:4} {reason}" for reason, n in sorted(reasons.items())]
        return "\n".join([f"{told['gradeable']} of {told['targets']} targets can be graded by code", *lines])
    verdicts = {paper: score(known[paper], values) for paper, values in sorted(given.items())}
    lines_ = table(known, verdicts)
    if arguments.json:
        return json.dumps(
            {"verdicts": [asdict(v) for v in verdicts.values()], "table": [asdict(line) for line in lines_]}
        )
    said = [f"{v.paper}  {v.answer:12} {v.arithmetic}{_firmness(v)}" for v in verdicts.values()]
    return "\n".join([*said, "", render(lines_)])


if __name__ == "__main__":
    sys.exit(main(here=Path(__file__).resolve().parent))
