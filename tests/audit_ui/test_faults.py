"""Forty faults planted among two hundred rows: what a row's first screen tells of them, and how often it cries wolf."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from audit_ui.given import Pool
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.evidence import Outcome, Receipt
from pipeline.paper import Paper, read
from tests.audit_ui.conftest import World
from tests.release import made

ROWS = 200
CLAIM = "SharpNet reaches the best accuracy on CIFAR-10."
RULES = Rules.of(made.EDITION)


def source(n: int, more: str = "", results: str = "") -> dict[str, bytes]:
    """A paper of the common kind: two metrics, two sizes, a smaller table, GPT-4 among others' work."""
    text = rf"""\documentclass{{article}}
\title{{SharpNet {n}}}
\begin{{document}}
\begin{{abstract}}{CLAIM} Code and weights are at our repository \url{{https://github.com/lab/p{n}}} and in our
model card \url{{https://huggingface.co/lab/p{n}}}.\end{{abstract}}
\section{{Related Work}} Large models such as GPT-4 are used for many tasks.
\section{{Experiments}} See Table~\ref{{tab:main}}. Training took {n % 9 + 2} hours on one H100.
Evaluation took 30 minutes on one H100. {more}
\begin{{table}}\caption{{Main results on CIFAR-10}}\label{{tab:main}}
\begin{{tabular}}{{lcc}}
Method & Accuracy $\uparrow$ & FLOPs $\downarrow$ \\
Baseline & 70.{n:03} & 11.{n:03} \\
SharpNet (ours) & 80.{n:03} & 12.{n:03} \\
{results}
\end{{tabular}}\end{{table}}
\begin{{table}}\caption{{Ablation of the loss on CIFAR-10}}
\begin{{tabular}}{{lc}}
Variant & Accuracy $\uparrow$ \\
SharpNet without warm-up & 79.{n:03} \\
\end{{tabular}}\end{{table}}
\section{{Conclusion}} SharpNet will be the basis of stronger models.
\end{{document}}
"""
    return {"main.tex": text.encode()}


@dataclass
class Row:
    """A row before it is derived, open to harm."""

    n: int
    inputs: dict[str, Any]
    receipts: list[Receipt]
    source: dict[str, bytes]

    @property
    def paper(self) -> Paper:
        return read(self.source)

    @property
    def target(self) -> dict[str, Any]:
        return self.inputs["target"]  # type: ignore[no-any-return]

    @property
    def part(self) -> dict[str, Any]:
        return self.inputs["compute"][0]  # type: ignore[no-any-return]

    def write(self, more: str = "", results: str = "") -> None:
        """Another source, the target anchored in it as before."""
        self.source = source(self.n, more, results)
        self.target["anchor"]["source_sha256"] = self.inputs["source_sha256"] = self.paper.source_sha256

    def at(self, text: str, table: int = 0) -> None:
        """The target's value is this printed one, wherever it stands."""
        chosen = self.paper.tables[table]
        cell = next(c for line in chosen.grid for c in line if c is not None and c.text == text)
        self.target["anchor"] |= {"table": chosen.number, "row": cell.row, "column": cell.column}
        self.value(text)

    def value(self, text: str) -> None:
        self.target.update(value=text, number=float(text))
        self.target["bar"] |= {"reference": float(text), "tolerance": float(text) * made.EDITION.tolerance_relative}

    def receipt(self, prefix: str, outcome: Outcome | None = None, **facts: Any) -> None:
        k = next(k for k, r in enumerate(self.receipts) if r.subject.startswith(prefix))
        old = self.receipts[k]
        self.receipts[k] = replace(old, outcome=outcome or old.outcome, facts={**old.facts, **facts})

    def move(self, prefix: str, subject: str, **facts: Any) -> None:
        """The row rests on another place than the one the paper links."""
        k = next(k for k, r in enumerate(self.receipts) if r.subject.startswith(prefix))
        before = self.receipts[k].subject
        self.receipts[k] = replace(self.receipts[k], subject=subject, facts={**self.receipts[k].facts, **facts})
        for context in self.inputs["contexts"].values():
            context["groups"] = [[subject if s == before else s for s in group] for group in context["groups"]]

    def derived(self) -> Derivation:
        known = {r.id: r for r in self.receipts}
        return derive(Inputs.model_validate({**self.inputs, "receipts": list(known)}), known, RULES)


def sound(n: int) -> Row:
    tier = ("Run", "Retrain")[n % 2]
    inputs, receipts = made.inputs(n, tier=tier, hours=1.0)
    given = inputs.model_dump(mode="json")
    paper = read(source(n))
    hours = n % 9 + 2.0
    train = {**made.part(hours), "quote": f"Training took {n % 9 + 2} hours on one H100."}
    test = {**made.part(0.5, "eval"), "quote": "Evaluation took 30 minutes on one H100."}
    items = [{"item": f"{i.kind} {i.number}", "caption": i.caption, "reason": "chosen"} for i in paper.inventory[:1]]
    given |= {
        "central_claim": "SharpNet is best on CIFAR-10.",
        "claim_quote": CLAIM,
        "mre_config": "SharpNet on CIFAR-10 with learning rate 0.1",
        "source_sha256": paper.source_sha256,
        "compute": [test] if tier == "Run" else [train],
        "inventory": items,
    }
    given["target"].update(config="SharpNet", dataset="CIFAR-10")
    row = Row(n, given, [replace(r, facts={**r.facts, "names_paper": ["title"]}) for r in receipts], source(n))
    row.target["anchor"]["source_sha256"] = paper.source_sha256
    row.at(f"80.{n:03}")
    return row


RUN, RETRAIN = 0, 1
"""What a fault is planted in: rows of even numbers, or of odd ones."""

# Each fault: a name, the harm, and words of which one must stand on the first screen.
Harm = Callable[[Row], None]
FAULTS: dict[str, tuple[int, Harm, str]] = {}


def fault(name: str, words: str, parity: int = RETRAIN) -> Callable[[Harm], Harm]:
    def note(harm: Harm) -> Harm:
        FAULTS[name] = (parity, harm, words)
        return harm

    return note


@fault("a wrong value", "does not print")
def _(row: Row) -> None:
    row.value("91.7")


@fault("digits of a value swapped", "does not print")
def _(row: Row) -> None:
    row.value(f"08.{row.n:03}")


@fault("another column's value", "FLOPs")
def _(row: Row) -> None:
    row.at(f"12.{row.n:03}")


@fault("the baseline's value", "Baseline")
def _(row: Row) -> None:
    row.at(f"70.{row.n:03}")


@fault("an ablation's value", "ablation")
def _(row: Row) -> None:
    row.at(f"79.{row.n:03}", table=1)


@fault("a fraction as percent", "does not print")
def _(row: Row) -> None:
    row.value(f"0.80{row.n:03}")


@fault("a dearer target", "cheaper")
def _(row: Row) -> None:
    row.write(results=r"SharpNet-1.3B (ours) & 83.1 & 90 \\ SharpNet-7B (ours) & 85.2 & 99 \\")
    row.target["config"] = "SharpNet-7B"
    row.at("85.2")


@fault("another direction than the column's", "better")
def _(row: Row) -> None:
    row.target["direction"] = "lower"


@fault("a scope the paper does not have", "ImageNet")
def _(row: Row) -> None:
    row.target["scope"] = "ImageNet validation set"


@fault("a configuration of another data set", "CIFAR-100")
def _(row: Row) -> None:
    row.inputs["mre_config"] = "SharpNet on CIFAR-100 with learning rate 0.1"


@fault("another version of the source", "another source")
def _(row: Row) -> None:
    row.target["anchor"]["source_sha256"] = "f" * 64


@fault("a wide tolerance", "tolerance")
def _(row: Row) -> None:
    row.target["bar"]["tolerance"] = 25.0


@fault("the authors' spread left out", "±")
def _(row: Row) -> None:
    row.write(results=r"SharpNet long (ours) & 81.5 $\pm$ 0.2 & 13 \\")
    row.target["config"] = "SharpNet long"
    cell = next(c for line in row.paper.tables[0].grid for c in line if c is not None and c.value == 81.5)
    row.target["anchor"] |= {"row": cell.row, "column": cell.column}
    row.value("81.5")


@fault("a bar at another value", "the bar is held at")
def _(row: Row) -> None:
    row.target["bar"]["reference"] = 60.0


@fault("padded hours", "are charged, the quoted words say")
def _(row: Row) -> None:
    row.part["wall_hours"] *= 6


@fault("minutes charged as hours", "charged", RUN)
def _(row: Row) -> None:
    row.part["wall_hours"] = 30.0


@fault("another device", "name H100")
def _(row: Row) -> None:
    row.part["device"] = "A100 80GB"


@fault("eight devices for one", "8 devices are charged")
def _(row: Row) -> None:
    row.part["count"] = 8.0


@fault("one device for eight", "1 devices are charged")
def _(row: Row) -> None:
    row.write("The long run took 10 hours on 8 H100 GPUs.")
    row.part.update(quote="The long run took 10 hours on 8 H100 GPUs.", wall_hours=10.0, count=1.0)


@fault("hours from words that are not there", "not in the paper")
def _(row: Row) -> None:
    row.part.update(quote="Training took 9 days on one H100.", wall_hours=216.0)


@fault("a search's hours", "failed or preliminary")
def _(row: Row) -> None:
    said = "All experiments including failed runs took 90 hours on one H100."
    row.write(said)
    row.part.update(quote=said, wall_hours=90.0)


@fault("training charged though weights are released", "gives weights to a stranger", RUN)
def _(row: Row) -> None:
    row.inputs["compute"] = [
        {**made.part(row.n % 9 + 2.0), "quote": f"Training took {row.n % 9 + 2} hours on one H100."}
    ]


@fault("one run where five seeds are averaged", "runs counted")
def _(row: Row) -> None:
    row.target["n_seeds"] = 5


@fault("no part of the hours", "no part of the hours")
def _(row: Row) -> None:
    row.inputs["compute"] = []


@fault("a claim's quote that is not in the paper", "not in the paper")
def _(row: Row) -> None:
    row.inputs["claim_quote"] = "SharpNet is the best method on ImageNet."


@fault("a claim out of the conclusion", "not of the abstract")
def _(row: Row) -> None:
    row.inputs["claim_quote"] = "SharpNet will be the basis of stronger models."


@fault("a claim with an invented number", "its quote does not")
def _(row: Row) -> None:
    row.inputs["central_claim"] = "SharpNet is best on CIFAR-10 by 12.5 points."


@fault("an empirical paper called theory", "tables of results")
def _(row: Row) -> None:
    row.inputs["paper_kind"] = "theoretical"


@fault("a paid API unnoticed", "GPT-4")
def _(row: Row) -> None:
    row.write("The accuracy is judged by GPT-4o, which we prompt with both answers.")


@fault("a paid API in the configuration", "OpenAI")
def _(row: Row) -> None:
    row.inputs["mre_config"] = "SharpNet on CIFAR-10 with labels of GPT-4o"


@fault("human raters unnoticed", "rated by people")
def _(row: Row) -> None:
    row.write("The quality of each answer was rated by crowd workers on Amazon Mechanical Turk.")


@fault("a foreign repository", "neither linked by the paper nor naming it")
def _(row: Row) -> None:
    row.move("github:", "github:others/toolbox", names_paper=[])


@fault("a look-alike owner", "looks like")
def _(row: Row) -> None:
    row.move("github:", f"github:1ab/p{row.n}")


@fault("a copy under another account", "not linked by the paper")
def _(row: Row) -> None:
    row.move("github:", f"github:copycat/p{row.n}")


@fault("gated weights taken as open", "gated", RUN)
def _(row: Row) -> None:
    row.receipt("hf:", gated="manual")


@fault("weights of another size", "the target is of", RUN)
def _(row: Row) -> None:
    row.write(results=r"SharpNet-7B (ours) & 85.2 & 99 \\")
    row.target["config"] = "SharpNet-7B"
    row.at("85.2")
    row.move("hf:", f"hf:model:lab/p{row.n}-1.3b")


@fault("an adapter for weights", "adapter", RUN)
def _(row: Row) -> None:
    row.receipt("hf:", adapter_only=True, base_model="big/base")


@fault("code for evaluation only", "evaluation only")
def _(row: Row) -> None:
    row.receipt("github:", eval_only=True)


@fault("a README for code", "nothing but a README")
def _(row: Row) -> None:
    row.receipt("github:", readme_only=True)


@fault("data that is gone", "unavailable")
def _(row: Row) -> None:
    row.receipt("url:", Outcome.UNAVAILABLE, status=404)


@fault("data behind a form", "wall")
def _(row: Row) -> None:
    row.receipt("url:", wall="registration")


@fault("a repository asked for with credentials", "credentials")
def _(row: Row) -> None:
    row.receipt("github:", authenticated=True)


def first_screen(page: str) -> str:
    """What a page shows beside the paper before anything is opened: what stands in closed details does not count."""
    panel = page.partition('id="panel"')[2]
    shut = re.compile(
        r"<details(?![^>]*\sopen)[^>]*>\s*(<summary(?:(?!</summary).)*</summary>)(?:(?!<details).)*?</details>",
        re.DOTALL,
    )
    while (opened := shut.sub(r"\1", panel)) != panel:
        panel = opened
    return html.unescape(re.sub(r"<[^>]+>", "", panel))


def planted() -> Iterator[tuple[Row, str, str]]:
    """Two hundred rows; two of every five have a fault until all have been planted. (row, its fault or "", words)"""
    left = dict(FAULTS)
    for n in range(ROWS):
        row = sound(n)
        name = next((f for f, (parity, _, _) in left.items() if n % 5 in (0, 1) and parity == n % 2), "")
        if name:
            _, harm, words = left.pop(name)
            harm(row)
            yield row, name, words
        else:
            yield row, "", ""


@pytest.mark.slow
def test_the_first_screen_makes_nine_of_ten_planted_faults_visible_and_hardly_cries_wolf(world: World) -> None:
    rows = list(planted())
    derived = {row.derived().arxiv_id: row for row, _, _ in rows}
    receipts = {r.id: r for row, _, _ in rows for r in row.receipts}
    sample = tuple(row.derived() for row in derived.values())
    world.pool = Pool(print="faults", rows=sample, sample=sample, receipts=receipts, paper=lambda i: derived[i].paper)
    ann = world.person("ann")
    hidden_, alarms = [], []
    for row, name, words in rows:
        id_ = made.arxiv_id(row.n)
        if not name:
            alarms += [f"{id_}: {d.question}: {d.text}" for d in world.site.desk.shown(world.row(id_)).doubts[:1]]
        elif words not in first_screen(ann.sees(id_)):
            told = [f"{d.question}: {d.text}" for d in world.site.desk.shown(world.row(id_)).doubts]
            hidden_.append(f"{name} (row {row.n}, told: {told})")
    faults = sum(bool(name) for _, name, _ in rows)
    print(f"\n{faults} faults in {len(rows)} rows; not visible at first: {len(hidden_)}", *hidden_, sep="\n- ")
    print(f"false alarms on {len(rows) - faults} sound rows: {len(alarms)}", *alarms, sep="\n- ")
    assert faults == len(FAULTS) >= 40
    assert len(hidden_) <= 0.1 * faults, hidden_
    assert len(alarms) <= 0.05 * (len(rows) - faults), alarms


def test_what_is_shut_on_a_page_is_not_on_its_first_screen() -> None:
    page = (
        '<div id="panel"><details open><summary>a</summary>b</details><details class="x"><summary>c</summary>d'
        "<details><summary>e</summary>f</details></details>g</div>"
    )
    assert re.sub(r"\s", "", first_screen(page)) == ">abcg"
