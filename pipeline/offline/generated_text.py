"""Words of made-up papers: titles, LaTeX sources, READMEs and code, each a function of what was drawn for a paper.

The papers read like papers (claims, tables, compute statements, links in footnotes and macros) and say nothing true.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Field:
    """One corner of the field: what is measured, on what data, against whom. `low`, `high` bound the metric."""

    task: str
    dataset: str
    home: str
    metric: str
    unit: str
    low: float
    high: float
    backbone: str
    rivals: tuple[str, ...]
    category: str


FIELDS = (
    Field(
        "image classification", "CIFAR-10", "https://www.cs.toronto.edu/~kriz/cifar.html", "accuracy", r"\%", 88, 97,
        "ResNet-18", ("BatchNorm", "GroupNorm", "Mixup", "RandAugment"), "cs.CV",
    ),
    Field(
        "language modelling", "WikiText-103", "https://huggingface.co/datasets/Salesforce/wikitext", "perplexity", "",
        11, 24, "a 125M-parameter transformer", ("Transformer-XL", "Mamba", "RWKV", "RetNet"), "cs.CL",
    ),
    Field(
        "mathematical reasoning", "GSM8K", "https://huggingface.co/datasets/openai/gsm8k", "accuracy", r"\%", 41, 88,
        "Qwen2.5-1.5B", ("SFT", "DPO", "GRPO", "Self-consistency"), "cs.CL",
    ),
    Field(
        "node classification", "ogbn-arxiv", "https://ogb.stanford.edu/docs/nodeprop/", "accuracy", r"\%", 68, 76,
        "a three-layer GCN", ("GCN", "GraphSAGE", "GAT", "SGC"), "cs.LG",
    ),
    Field(
        "offline reinforcement learning", "D4RL", "https://github.com/Farama-Foundation/D4RL", "normalised return", "",
        52, 96, "a two-layer critic", ("CQL", "IQL", "TD3+BC", "BC"), "cs.LG",
    ),
    Field(
        "speech recognition", "LibriSpeech", "https://www.openslr.org/12", "word error rate", r"\%", 1.9, 6.5,
        "a Conformer-S encoder", ("wav2vec 2.0", "HuBERT", "Whisper-tiny", "CTC"), "eess.AS",
    ),
)  # fmt: skip
LOWER_IS_BETTER = frozenset({"perplexity", "word error rate"})
DEVICES = ("A100 (40GB)", "A100 (80GB)", "H100", "RTX 3090", "V100", "RTX 4090")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_HEADS = _words("Amber Birch Cedar Delta Ember Fjord Gleam Heron Isle Juniper Kelp Larch Maple Nimbus Opal Pine")
_TAILS = _words("Net Mix Former Norm Flow Prop Loss Tune Graph Prune Step Gate Cast Lens Mesh Path Sort Fold")
_VERBS = _words("Learning Aligning Pruning Distilling Routing Calibrating Compressing Denoising Balancing")
_KINDS = _words("Sparse Long Noisy Small Rare Deep Frozen Latent Random Soft Heavy Residual Smooth Local")
_THINGS = _words("Features Contexts Labels Batches Tokens Ensembles Encoders Paths Walks Prompts Tails Streams")
_MEANS = (
    *("by Local Ranks", "with Fewer Gradients", "under Budget", "from Weak Signals", "without Replay"),
    *("by Spectral Gating", "with Shared Keys", "at Initialisation", "through Counterfactuals", "in One Pass"),
)
_LEADS = ("On the Limits of", "Lower Bounds for", "When to Stop", "The Geometry of", "A Phase Transition in")
_FIRST = _words("Ada Bela Chidi Dara Emeka Fumiko Goran Hana Ines Jomo Kaia Liu Mina Noor Otto Priya Rosa Sven")
_LAST = _words("Abara Brook Castell Drozd Eklund Farrow Gupta Holm Ito Janssen Kowal Lindqvist Moreau Nakata")
_PLACES = ("University of Nether Wallop", "Institute for Calm Computing", "Laputa Polytechnic", "Ruritania Labs")


def method_of(rng: Random) -> str:
    return rng.choice(_HEADS) + rng.choice(_TAILS)


def title_of(rng: Random, field: Field, method: str, kind: str) -> str:
    about = f"{rng.choice(_VERBS)} {rng.choice(_KINDS)} {rng.choice(_THINGS)} {rng.choice(_MEANS)}"
    if kind == "theory":
        return f"{rng.choice(_LEADS)} {about} in {field.task.title()}"
    return f"{method}: {about}" if kind == "empirical" else f"{method}: A Dataset for {about}"


def people_of(rng: Random) -> tuple[str, ...]:
    count = rng.randint(2, 6)
    names = [f"{first} {last}" for first, last in zip(rng.sample(_FIRST, count), rng.sample(_LAST, count), strict=True)]
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Story:
    """What one paper says. `links`: (what it is: code, weights, data, page, builds on; URL). `hours`: wall-clock of one
    training on `gpus` devices, None where the paper says nothing."""

    kind: str
    method: str
    title: str
    authors: tuple[str, ...]
    field: Field
    value: float
    rivals: tuple[float, ...]
    links: tuple[tuple[str, str], ...]
    device: str
    gpus: int
    hours: float | None
    promise: bool
    seed: int

    @property
    def best(self) -> str:
        return f"{self.value:.2f}"

    @property
    def claim(self) -> str:
        verb = "reduces" if self.field.metric in LOWER_IS_BETTER else "reaches"
        to = f"{self.field.metric} to {self.best}{self.field.unit}" if verb == "reduces" else (
            f"{self.best}{self.field.unit} {self.field.metric}"
        )  # fmt: skip
        return f"On {self.field.dataset}, {self.method} {verb} {to}"


def abstract(story: Story) -> str:
    """The abstract as arXiv shows it."""
    if story.kind == "theory":
        return (
            f"We study when {story.field.task} can be solved at all. We prove a lower bound that matches the best "
            "known upper bound up to logarithmic factors, and show that the gap closes for smooth targets."
        )
    what = "collect a data set" if story.kind == "dataset" else "propose a method"
    return (
        f"We {what} for {story.field.task}. {story.claim.replace(chr(92), '')}, against {story.rivals[0]:.2f} for "
        f"{story.field.rivals[0]}. The result holds over three seeds."
    )


def source(story: Story) -> dict[str, bytes]:
    """The LaTeX files: one, or a main file with sections."""
    rng = Random(story.seed)
    sections = _theory(story) if story.kind == "theory" else _sections(story, rng)
    style = rng.choice((r"\usepackage[final]{neurips_2025}", r"\usepackage{neurips_2025}", r"\usepackage{times}"))
    macro = rng.random() < 0.5
    name = r"\ours{}" if macro else story.method
    head = [
        r"\documentclass{article}",
        style,
        r"\usepackage{booktabs,hyperref,amsmath}",
        *([rf"\newcommand{{\ours}}{{{story.method}}}"] if macro else []),
        rf"\title{{{story.title}}}",
        rf"\author{{{' and '.join(story.authors)}\\ {rng.choice(_PLACES)}}}",
        r"\begin{document}",
        r"\maketitle",
        r"\begin{abstract}",
        abstract(story).replace("%", r"\%"),
        r"\end{abstract}",
    ]
    tail = [*_bibliography(story), r"\end{document}", ""]
    parts = {title: body.replace("METHOD", name) for title, body in sections.items()}
    if rng.random() < 0.4:
        files = {f"sections/{n}_{title.lower()}.tex": body for n, (title, body) in enumerate(parts.items(), start=1)}
        body = [rf"\input{{{path.removesuffix('.tex')}}}" for path in files]
    else:
        files, body = {}, list(parts.values())
    files["main.tex"] = "\n".join([*head, *body, *tail])
    return {path: text.encode() for path, text in sorted(files.items())}


def _sections(story: Story, rng: Random) -> dict[str, str]:
    field = story.field
    told = [_LINKED[what].format(url=url) for what, url in story.links if what in _LINKED]
    if story.promise:
        told.append("Code will be released upon acceptance.")
    rows = [rf"{name} & {value:.2f} \\" for name, value in zip(field.rivals, story.rivals, strict=False)]
    arrow = r"$\downarrow$" if field.metric in LOWER_IS_BETTER else r"$\uparrow$"
    table = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{Test {field.metric} of all methods on {field.dataset}.}}",
        r"\label{tab:main}",
        r"\begin{tabular}{lc}",
        r"\toprule",
        rf"Method & {field.metric.capitalize()} {arrow} \\",
        r"\midrule",
        *rows,
        rf"METHOD (ours) & \textbf{{{story.best}}} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    intro = [
        r"\section{Introduction}",
        f"Progress in {field.task} is held back by methods that are costly and brittle. {story.claim}. "
        + " ".join(told),
        f"We compare with {field.rivals[0]}~\\cite{{a1}} and {field.rivals[1]}~\\cite{{a2}}.",
    ]
    method = [
        r"\section{Method}",
        rf"METHOD changes one line of {field.backbone}. Let $x\in\mathbb{{R}}^d$ and $g_\theta$ the gate; we compute",
        r"\begin{equation}",
        r"y = x + \sigma(g_\theta(x)) \odot f(x),",
        r"\end{equation}",
        rf"with $\theta$ of width {rng.choice((64, 128, 256))} and a weight decay of {rng.choice(('0.01', '0.1'))}.",
    ]
    setup = [
        r"\section{Experiments}",
        rf"\paragraph{{Setup.}} We train {field.backbone} on {field.dataset}\footnote{{\url{{{field.home}}}}} with its "
        rf"standard split, AdamW and a learning rate of {rng.choice(('1e-3', '3e-4', '5e-5'))}, over three seeds.",
        *table,
        rf"Table~\ref{{tab:main}} shows that METHOD is ahead of {field.rivals[0]} by "
        rf"{abs(story.value - story.rivals[0]):.2f}.",
    ]
    if story.hours is not None:
        plural = "s" if story.gpus > 1 else ""
        setup.append(
            rf"\paragraph{{Compute.}} Training one model takes {story.hours:g} hours on {story.gpus} {story.device} "
            rf"GPU{plural}."
        )
    end = [r"\section{Conclusion}", f"METHOD is simple and makes {field.task} cheaper. We hope that it is of use."]
    named = {"Introduction": intro, "Method": method, "Experiments": setup, "Conclusion": end}
    return {title: "\n".join(lines) for title, lines in named.items()}


_LINKED = {
    "code": r"Our code is available at \url{{{url}}}.",
    "weights": r"Trained models are at \url{{{url}}}.",
    "data": r"The data are at \url{{{url}}}.",
    "page": r"See also our project page, \href{{{url}}}{{here}}.",
    "builds on": r"We build on a public code base.\footnote{{\url{{{url}}}}}",
}


def _theory(story: Story) -> dict[str, str]:
    lines = [
        r"\section{Introduction}",
        f"When can {story.field.task} be learned? We answer this for smooth targets.",
        r"\begin{theorem}Let $f$ be $L$-smooth. Any learner needs $\Omega(d/\epsilon^2)$ samples.\end{theorem}",
        r"\section{Proof}",
        r"We reduce to a hypothesis test between two product measures and apply Le Cam's lemma. The bound follows from",
        r"\begin{equation}\mathrm{TV}(P_0,P_1)\le \sqrt{n\epsilon^2/d}.\end{equation}",
        r"\section{Discussion}",
        "This paper contains no experiments.",
    ]
    return {"Theory": "\n".join(lines)}


def _bibliography(story: Story) -> list[str]:
    entries = [rf"\bibitem{{a{n}}} {name}. A paper about it. 202{n}." for n, name in enumerate(story.field.rivals, 1)]
    return [r"\begin{thebibliography}{9}", *entries, r"\end{thebibliography}"]


def readme(story: Story, state: str) -> bytes:
    """`state`: code, or promised (nothing but a promise)."""
    lines = [f"# {story.method}", "", f'Official implementation of "{story.title}".', ""]
    if state == "promised":
        return "\n".join([*lines, "Code coming soon!", ""]).encode()
    lines += ["## Install", "pip install -r requirements.txt", "", "## Train", "python train.py --seed 0", ""]
    lines += ["## Evaluate", f"python evaluate.py --data {story.field.dataset}", ""]
    lines += [f"Trained models: {url}" for what, url in story.links if what == "weights"]
    return "\n".join([*lines, ""]).encode()


def code(story: Story, purpose: str) -> bytes:
    return (
        f'"""{purpose.capitalize()} {story.method} on {story.field.dataset}."""\n\n'
        "import argparse\n\nimport torch\n\n\n"
        f"def {purpose}(model, loader, device):\n"
        "    total = 0.0\n"
        "    for x, y in loader:\n"
        "        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))\n"
        "        total += float(loss)\n"
        "    return total / len(loader)\n\n\n"
        'if __name__ == "__main__":\n'
        "    parser = argparse.ArgumentParser()\n"
        '    parser.add_argument("--seed", type=int, default=0)\n'
        "    print(parser.parse_args())\n"
    ).encode()
