"""Two writings of the same rules, the pipeline's and the lone verifier's, asked the same: they answer the same."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import compute, labels, selection, targets
from pipeline.audit import standing
from pipeline.compute import load_devices
from pipeline.events import QUESTIONS, Entry, Event, chained, fold, genesis, head, verify_chain
from pipeline.evidence import Outcome, Receipt, Signal, digest
from pipeline.paper import parse_number
from pipeline.release import verify_alone
from pipeline.release.agent_view import given_away
from pipeline.tiers import Tier

Line = dict[str, Any]

FAST = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SUBJECTS = ("github:lab/p1", "github:lab/p2", "hf:model:lab/p1-7b", "hf:dataset:lab/d", "url:https://p.example/")
TOOLS = ("github_repo", "github_tree", "github_file", "hub_repo", "hub_file", "fetch_url", "hub_search")
SEARCHES = ("github_search_repositories", "github_search_code", "hub_search")

facts_of_places = st.fixed_dictionaries(
    {},
    optional={
        **{key: st.booleans() for key in ("authenticated", "moved_elsewhere", "eval_only", "weights_open")},
        **{key: st.booleans() for key in ("adapter_only", "base_open", "data_open", "complete", "failed")},
        "code_files": st.sampled_from([0, 1, 2, 5]),
        "code_sample": st.lists(st.sampled_from(["setup.py", "a/__init__.py", "train.py"]), max_size=3),
        "submodules": st.lists(st.fixed_dictionaries({"reached": st.sampled_from([True, False, None])}), max_size=2),
        "unseen": st.lists(st.sampled_from(["tree", "raw", "weights", "card", "submodules"]), max_size=2),
        "files": st.just(["x"]),
        "construction_scripts": st.lists(st.just("make.py"), max_size=1),
        "base_model": st.sampled_from(["lab/p1-7b", "Lab/P1-7B", None, ["lab/p1-7b"]]),
        "scope_words": st.lists(st.sampled_from(["7B", "130m", "big"]), max_size=2),
    },
)
places = st.builds(
    Receipt,
    paper=st.just("2601.00001"),
    tool=st.sampled_from(TOOLS),
    arguments=st.fixed_dictionaries({"n": st.integers(0, 2)}),
    exchanges=st.just(("e",)),
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(["", "told so"]),
    subject=st.sampled_from(SUBJECTS),
    facts=facts_of_places,
)
searches = st.builds(
    Receipt,
    paper=st.just("2601.00001"),
    tool=st.sampled_from(SEARCHES),
    arguments=st.fixed_dictionaries({"query": st.sampled_from(["Made  paper", "made paper", 'it\'s "so"', "other"])}),
    exchanges=st.just(("e",)),
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(["", "told so"]),
    subject=st.sampled_from(["search:github", "search:hub"]),
    facts=st.fixed_dictionaries(
        {"complete": st.booleans()},
        optional={
            "query": st.sampled_from(["made model", "paper", "", None]),
            "results": st.lists(st.sampled_from(["lab/p1", "who/Made-Net", "x/y"]), max_size=2),
            "failed": st.booleans(),
        },
    ),
)
receipts_ = st.lists(st.one_of(places, searches), max_size=7)
contexts = st.builds(
    labels.Context,
    groups=st.lists(st.frozensets(st.sampled_from(SUBJECTS), max_size=3), max_size=2).map(tuple),
    open_homes=st.frozensets(st.sampled_from(SUBJECTS), max_size=1),
    gated_homes=st.frozensets(st.sampled_from(SUBJECTS), max_size=1),
    unresolved_links=st.sampled_from([(), (), ("url:https://dead.example/",)]),
    not_needed=st.sampled_from(["", "", "", "not needed, as the paper says"]),
    training_needed=st.booleans(),
    standard_names=st.sampled_from([(), ("CIFAR-10",), ("CIFAR-10", "GSM8K")]),
    custom_data=st.booleans(),
    absence_searches=st.sampled_from([{}, {"github": 2, "hub": 1}, {"github": 1}]),
    words=st.sampled_from([frozenset(), frozenset({"made", "paper"})]),
    method=st.sampled_from(["", "madenet"]),
    sizes=st.sampled_from([(), ("7b",), ("70b",)]),
)


@FAST
@given(receipts_, contexts, st.sampled_from(Signal), st.booleans(), st.sampled_from([(), ("unknown",)]))
def test_both_turn_receipts_into_the_same_labels(
    found: list[Receipt], context: labels.Context, signal: Signal, word: bool, cited: tuple[str, ...]
) -> None:
    due = labels.label(labels.Claim(signal=signal, value=word, cited=cited), found, context)
    told = verify_alone.label(
        str(signal), {"value": word, "cited": list(cited)}, [r.to_json() for r in found], context.to_json()
    )
    assert (told.value, told.verification, told.status, told.receipts, told.reason) == (
        *(due.value, str(due.verification), str(due.status), due.receipts, due.reason),
    )


DEVICE_WORDS = st.sampled_from(
    [a for d in load_devices().device for a in d.aliases]
    + [
        "8",
        "x",
        "NVIDIA",
        "80GB",
        "40 GB",
        "PCIe",
        "NVL",
        "Ti",
        "v3-8",
        "TPU v4-32",
        "TPU cores",
        "32-core",
        "and",
        "-",
    ]
    + [
        "RTX",
        "A10G",
        "Super",
        "s",
        "(",
        "\\times",
        "$",
        "~",
        "\u2013",
        "unknown card",
        "64 cores",
        "MIG",
        "T4",
        "in T4",
    ]
)
amounts = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.25, 1e9]))
parts = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["train", "finetune", "eval", "generate"]),
        "device": st.lists(DEVICE_WORDS, max_size=4).flatmap(
            lambda w: st.sampled_from(["", " "]).map(lambda s: s.join(w))
        ),
        "count": amounts,
        "wall_hours": amounts,
        "device_hours": st.one_of(st.none(), st.none(), amounts),
        "runs": st.integers(0, 3),
        "quote": st.just("said"),
        "cpu_only": st.booleans(),
    }
)
DEVICES = verify_alone.DeviceTable(load_devices().model_dump(mode="json"))


@FAST
@given(st.lists(parts, max_size=3))
def test_both_turn_compute_parts_into_the_same_hours(given_: list[Line]) -> None:
    due, told = compute.hours([compute.Part(**part) for part in given_]), DEVICES.hours(given_)
    assert (told.low, told.mid, told.high, told.factors, told.reason) == (
        *(due.low, due.mid, due.high, due.factor_ids, due.reason),
    )


def test_both_read_every_alias_of_the_device_table_alike() -> None:
    phrases = [a for d in load_devices().device for a in d.aliases]
    spelled = ("{}", "8x NVIDIA {}s (80GB)", "{} Ti", "a{}", "{} PCIe 40 GB")
    for phrase in (words.format(a) for a in [*phrases, *map(str.lower, phrases)] for words in spelled):
        due = compute.match_device(phrase)
        named = DEVICES.named(phrase)
        assert (named and named["id"]) == (due and due.id), phrase


candidates = st.lists(
    st.builds(
        selection.Candidate,
        arxiv_id=st.integers(1, 60).map(lambda n: f"2601.{n:05}"),
        tier=st.sampled_from([*Tier, *selection.SELECTABLE, None]),
        hours=st.one_of(st.none(), st.sampled_from([0.0, 1.0, 8.0, 8.5, 32.0, 50.0, 96.0, 97.0, 192.0, 200.0])),
        excluded=st.sampled_from([None, None, None, None, "left out"]),
    ),
    max_size=40,
    unique_by=lambda c: c.arxiv_id,
)


@FAST
@given(
    candidates,
    st.integers(0, 25),
    st.sampled_from([(5, 7, 8, 5), (1, 0, 0, 0), (0, 0, 1, 3)]),
    st.booleans(),
    st.data(),
)
def test_both_select_the_same_papers_in_the_same_ranks(
    given_: list[selection.Candidate], total: int, weights: tuple[int, ...], by_lot: bool, data: st.DataObject
) -> None:
    edges = (8.0, 32.0, 96.0, 192.0)
    settings_ = selection.SelectionSettings(total, edges, weights, draw="seeded" if by_lot else "cheapest", seed="made")
    due = selection.select(given_, settings_)
    told = verify_alone.select(
        [verify_alone.Candidate(c.arxiv_id, c.tier and c.tier.value, c.hours, c.excluded) for c in given_],
        total, list(edges), list(weights), "made" if by_lot else None,
    )  # fmt: skip
    assert [(i, r["status"], r["reason"], r["rank"], r["inclusion"], r["band"]) for i, r in told.rows.items()] == (
        due.rows.select("arxiv_id", "status", "reason", "rank", "inclusion", "band").rows()
    )
    assert told.shortfall == {tier.value: n for tier, n in due.shortfall.items()}
    wanted = ("supply", "quota", "want", "taken", "topped_up")
    assert [[s.told()[k] for k in wanted] for s in told.strata] == [[getattr(s, k) for k in wanted] for s in due.strata]
    if due.ids:
        dropped = data.draw(st.sampled_from(due.ids))
        used = set(data.draw(st.lists(st.sampled_from([c.arxiv_id for c in given_])))) | set(due.ids)
        assert told.replacement(dropped, used) == due.replacement(dropped, used)


PRINTED = st.lists(
    st.sampled_from(
        [
            "80",
            ".5",
            "1,234",
            "12.5",
            "%",
            "±",
            "\\pm",
            "0.2",
            "(3)",
            "(0.4)",
            "$",
            "\\textbf{",
            "}",
            "x",
            "k",
            " ",
            "-",
            "−",
            "e-3",
            "\\times",
            "10^{-3}",
            "^",
            "_",
            "{",
            "/",
            "[",
            "]",
            ",",
            "about",
            "↑",
            "*",
            "<",
            "~",
            "to",
            "ms",
            "\\hspace{1em}",
            "\\textcolor{red}{",
            "95% CI",
            "+0.1",
            "–",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join)


@settings(FAST, max_examples=200)
@given(PRINTED)
def test_both_read_the_same_number_from_what_a_paper_prints(text: str) -> None:
    due = parse_number(text)
    assert verify_alone.printed_number(text) == (None if due is None else due.value)


VALUES = {
    **{str(s): st.sampled_from([True, False, "not_needed", "cannot_tell"]) for s in Signal},
    "kind": st.sampled_from(["empirical", "survey", "cannot_tell"]),
    "needs": st.sampled_from([[], ["paid_api"]]),
    **{q: st.sampled_from(["stands", "wrong", "cannot_tell"]) for q in ("claim", "target", "bar")},
    "hours": st.sampled_from(["stands", 1, 1.0, 2.5]),
    "eligibility": st.booleans(),
}


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Events of two sites about one paper: answers on its present and an older hash, adjudications, undos."""
    chains: dict[str, list[Event]] = {"main": [], "other": []}
    for _ in range(draw(st.integers(0, 10))):
        site, known = draw(st.sampled_from(["main", "other"])), [e for es in chains.values() for e in es]
        said: Line = {"paper": "2601.00001", "who": draw(st.sampled_from(["ada", "bob"]))}
        said["at"] = f"2026-02-20T10:00:0{draw(st.integers(0, 9))}{draw(st.sampled_from(['', '.5', '.05']))}Z"
        how = draw(st.sampled_from(["answer", "answer", "answer", "adjudicate", "undo"]))
        if how == "undo" and known:
            undone = draw(st.sampled_from(known))
            chains[site].append(Event(kind="undo", undoes=undone.id, **{**said, "who": undone.who}))
            continue
        question = draw(st.sampled_from(QUESTIONS))
        value = draw(VALUES[question] if how != "adjudicate" else VALUES[question].filter(lambda v: v != "cannot_tell"))
        said |= {"question": question, "value": value, "row_hash": draw(st.sampled_from("aab")) * 64, "why": "so"}
        phase = "blind" if how != "adjudicate" else None
        chains[site].append(Event(kind="answer" if phase else "adjudicate", phase=phase, **said))
    return [e for site, es in chains.items() for e in chained(es, site, 0, genesis("made-2026", site))]


@FAST
@given(histories())
def test_both_fold_a_ledger_into_the_same_standing(entries: list[Entry]) -> None:
    lines = [entry.to_json() for entry in entries]
    assert not [problem for line in lines for problem in verify_alone.entry_problems(line)]
    assert not verify_chain(entries, "made-2026")
    assert not list(verify_alone.chain_problems(lines, "made-2026"))
    assert verify_alone.ledger_head(lines) == head(entries)
    counting = fold(entries)
    assert verify_alone.fold(lines) == [event.to_json() for event in counting]
    due = standing("2601.00001", "a" * 64, counting)
    told = verify_alone.standing("a" * 64, verify_alone.fold(lines))
    assert (told.state, told.open) == (due.state, dict(due.open))
    assert {q: digest(e) for q, e in told.decided.items()} == {q: d.event.id for q, d in due.decisions.items()}


numbers = st.one_of(st.none(), st.sampled_from([0.0, 0.01, 2.0, 80.5, -3.0]))


@FAST
@given(
    st.sampled_from(["point_estimate", "direction", "threshold", "magnitude", "range"]),
    st.sampled_from(["higher", "lower", None]),
    *[numbers] * 4,
    st.sampled_from([0.01, 2.0, 80.5, -3.0, 0.0]),
    st.sampled_from(["", "%"]),
)
def test_both_derive_the_same_bar(
    kind: Any, direction: Any, spread: Any, baseline: Any, low: Any, high: Any, number: float, unit: str
) -> None:
    due = targets.make_bar(
        kind, number=number, direction=direction, uncertainty=spread, baseline=baseline, relative=0.05, low=low,
        high=high, scale=targets.scale_of("1", unit, "accuracy"),
    )  # fmt: skip
    target = {"number": number, "direction": direction, "uncertainty": spread, "baseline": baseline, "value": "1"}
    target |= {"unit": unit, "metric": "accuracy", "bar": {"kind": kind, "low": low, "high": high}}
    assert verify_alone.bar_by_rule(target, 0.05) == (None if due is None else due.model_dump(mode="json"))


SAID = st.lists(
    st.sampled_from(
        [
            *("--lr", "lr=0.1", "0.1", "1e-3", "200", "epochs", "12-layer", "-x", "="),
            *("seed=3,", "ResNet-18", "self-attention", "on", "the", "CIFAR"),
        ]
    ),
    max_size=5,
).map(" ".join)


@FAST
@given(SAID, SAID, SAID, SAID)
def test_both_find_the_same_settings_given_away(config: str, mre: str, claim: str, task: str) -> None:
    row = {"central_claim": claim, "mre_config": mre, "match_target": {"config": config, "metric": "m", "scope": ""}}
    row["match_target"]["value"] = "80"
    view = {"central_claim": claim, "task": task}
    assert verify_alone.given_away(row, view) == given_away(row, view)
