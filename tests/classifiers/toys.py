"""Toy papers and a world of receipts for the classifier's tests: no network, no probe code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from classifiers.agent import run_episode
from classifiers.models import Classifier, model_for
from classifiers.toolbox import Limits, PaperInput, Seen, subject_asked
from pipeline import reference
from pipeline.answers import Episode
from pipeline.artifacts import subject
from pipeline.classification import derivation
from pipeline.corpus import PaperRecord
from pipeline.derivation import Derivation
from pipeline.editions import load
from pipeline.evidence import Outcome, Receipt
from pipeline.paper import read

Found = tuple[Outcome, str, Mapping[str, Any]]

REAL_CODE = {
    "code_files": 5,
    "train_entries": ["train.py"],
    "eval_entries": ["eval.py"],
    "readme_only": False,
    "names_paper": ["title"],
    "readme_links": [],
}


@dataclass
class FakeProbes:
    """Answers from `places` (subject to outcome, reason, facts); anything else is undetermined, searches find `hits`
    or nothing.

    `calls` lists what was asked, in order. A tool named in `broken` raises.
    """

    places: Mapping[str, Found] = field(default_factory=dict)
    hits: Mapping[str, list[str]] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    paper: str = "2501.00001"

    def __getattr__(self, tool: str) -> Callable[..., Seen]:
        if tool.startswith("_"):
            raise AttributeError(tool)
        return lambda *args, **arguments: self._probe(tool, arguments)

    def _probe(self, tool: str, arguments: dict[str, Any]) -> Seen:
        self.calls.append((tool, arguments))
        if tool in self.broken:
            raise RuntimeError("the probe fell over")
        subject = subject_asked(tool, arguments)
        if subject.startswith("search:"):
            results = self.hits.get(tool, [])
            facts = {"complete": True, "query": arguments["query"], "results": results, "kind": arguments.get("kind")}
            found: Found = (Outcome.AVAILABLE, "complete search", facts)
        else:
            found = self.places.get(subject, (Outcome.UNDETERMINED, "unreachable", {}))
        outcome, reason, facts_ = found
        receipt = Receipt(
            paper=self.paper,
            tool=tool,
            arguments=arguments,
            exchanges=(f"{tool} {sorted(arguments.items())}",),
            outcome=outcome,
            reason=reason,
            subject=subject,
            facts=facts_,
        )
        return receipt, {"note": reason}


def paper_input(source: str | Mapping[str, bytes], supplement: tuple[tuple[str, int], ...] = ()) -> PaperInput:
    files = {"main.tex": source.encode()} if isinstance(source, str) else source
    return PaperInput(record="2501.00001", bundle="b" * 64, paper=read(files), supplement=supplement)


def classify(
    source: str | Mapping[str, bytes],
    probes: FakeProbes,
    classifier: Classifier | None = None,
    limits: Limits | None = None,
    supplement: tuple[tuple[str, int], ...] = (),
) -> Episode:
    given = paper_input(source, supplement)
    return asyncio.run(run_episode(given, probes, classifier or model_for("embedded"), limits or Limits()))


def method_paper(*, links: str = "", table: str = "", body: str = "", abstract: str = "") -> str:
    """A small empirical paper about a method called Gizmo, on CIFAR-10."""
    table = table or (
        r"\begin{table}\caption{Test accuracy (\%) on CIFAR-10.}\label{t}\begin{tabular}{lc}\toprule "
        r"Method & Accuracy $\uparrow$ \\ \midrule Baseline & 91.20 \\ Other & 92.35 \\ "
        r"Gizmo (ours) & \textbf{95.41} \\"
        r"\bottomrule\end{tabular}\end{table}"
    )
    plain = "Networks forget. We introduce Gizmo, a memory. On CIFAR-10, Gizmo reaches 95.41\\% test accuracy."
    abstract = abstract or plain
    return (
        r"\documentclass{article}\usepackage{booktabs,hyperref}\title{Gizmo: A Memory for Networks That Forget}"
        r"\author{Ada Quill \and Ben Ostler}\begin{document}\maketitle"
        rf"\begin{{abstract}}{abstract}\end{{abstract}}"
        rf"\section{{Introduction}}We build Gizmo. {links}"
        r"\section{Experiments}We train a ResNet-18 for 200 epochs. CIFAR-10 is used with its standard split. "
        r"Gizmo improves on all baselines. Training Gizmo takes 3 hours on one NVIDIA A100 GPU."
        rf"{table} {body}\section{{Conclusion}}Gizmo helps.\end{{document}}"
    )


OWN_CODE = r"Our code is available at \url{https://github.com/quill-lab/gizmo}."
OWN_WEIGHTS = r"We release the model at \url{https://huggingface.co/quill-lab/gizmo-resnet18}."


def places(**extra: Found) -> dict[str, Found]:
    """The homes of CIFAR-10 answer; `code`, `weights` put the paper's own places there."""
    home = reference.benchmark("CIFAR-10")
    assert home is not None
    there: dict[str, Found] = {subject(home.home): (Outcome.AVAILABLE, "page read", {"data_open": ["cifar-10.tar.gz"]})}
    names = {"code": "github:quill-lab/gizmo", "weights": "hf:model:quill-lab/gizmo-resnet18"}
    return there | {names[name]: found for name, found in extra.items()}


CODE: Found = (Outcome.AVAILABLE, "5 code files", REAL_CODE)
WEIGHTS: Found = (
    Outcome.AVAILABLE,
    "3 files, no gate",
    {"weights_open": ["model.safetensors"], "adapter_only": False, "names_paper": ["title"]},
)


def derived(source: str, episode: Episode, has_supplement: bool = False) -> Derivation:
    """What the pipeline makes of an episode under the sample edition."""
    paper = paper_input(source).paper
    record = PaperRecord(
        arxiv_id="2501.00001",
        version=1,
        title=paper.title,
        authors=paper.authors,
        abstract=paper.abstract,
        forum_id=None,
        published="2025-01-01",
        categories=(),
        supplement_path=None,
        index_key="2501.00001",
    )
    made = derivation(record, paper, episode, load("sample-2025"), has_supplement=has_supplement)
    assert isinstance(made, Derivation), made
    return made
