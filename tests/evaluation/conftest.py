"""An invented gold folder: one paper with code, one that hides its link, one template; labels of both readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LANTERN = r"""\documentclass{article}
\title{Lantern: Brighter Trees}
\begin{document}
\maketitle
\begin{abstract}
Lantern raises accuracy on CIFAR-10 from 91.2\% to 94.5\%.
Our code is available at \url{https://github.com/lamplight/lantern}.
\end{abstract}
\section{Experiments}
We compare with the baseline of \url{https://github.com/others/oldtree}.
% The first draft was at \url{https://github.com/lamplight/draft}
\begin{table}
\caption{Test accuracy of Lantern on CIFAR-10.}
\begin{tabular}{lc}
Method & Accuracy \\
OldTree & 91.2 \\
Lantern (ours) & \textbf{94.5} \\
\end{tabular}
\end{table}
We train Lantern on 4 NVIDIA A100 GPUs for 6 hours.
\end{document}
"""
HIDDEN = r"""\documentclass{article}
\newcommand{\code}{\url{https://github.com/lamplight/shade}}
\title{Shade}
\begin{document}
\begin{abstract}
Shade improves accuracy on MNIST to 99.1\%.
\end{abstract}
\section{Results}
We trained for 2 hours.
\end{document}
"""
TEMPLATE = "just a note, not a paper\n"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def cited(file: str, line: int, quote: str, **more: Any) -> dict[str, Any]:
    return {"evidence": {"file": file, "line": line, "quote": quote}, **more}


@pytest.fixture
def gold_folder(tmp_path: Path) -> Path:
    return make_gold(tmp_path / "gold")


def make_gold(root: Path) -> Path:
    write(root / "papers/lantern/src/main.tex", LANTERN)
    write(
        root / "papers/lantern/meta.json",
        {
            "id": "lantern",
            "title": "Lantern: Brighter Trees",
            "arxiv_id": "2501.00001",
            "main_tex": "main.tex",
            "gold": {
                "code_links": [
                    cited("main.tex", 7, "code", url="https://github.com/Lamplight/lantern", visible_in_pdf=True)
                ],
                "links_not_own_code": [
                    cited("main.tex", 10, "baseline", url="https://github.com/others/oldtree", role="baseline")
                ],
                "commented_out_links": [{"file": "main.tex", "line": 11, "quote": "first draft"}],
                "weights_links": [],
                "datasets": [{"name": "CIFAR-10", "public": True}],
                "compute": [cited("main.tex", 20, "4 NVIDIA A100 GPUs for 6 hours", reading="4 x A100, 6 h")],
                "metric": {"name": "accuracy", "value": "94.50"},
                "tier_from_source_alone": "Retrain",
                "tier_with_repo_knowledge": "Retrain (two files)",
            },
        },
    )
    write(
        root / "papers/lantern/second_reader.json",
        {
            "own_code_links": ["https://github.com/lamplight/lantern/"],
            "paper_kind": "empirical",
            "target": {"value": "94.5%", "metric": "accuracy", "where": "main.tex:17"},
            "target_alternatives": [{"value": "3.3", "what": "gain", "where": "main.tex:6"}],
            "datasets": [{"name": "CIFAR-10", "standard_public": True}],
            "compute": [
                {"verbatim": "on 4 A100 for 6 hours", "devices": "A100", "count": 4, "hours": 6, "where": "main.tex:20"}
            ],
            "signals": {"code_claimed": True, "weights_claimed": False, "data_public": True},
            "tier_from_source_alone": "Retrain",
        },
    )
    write(root / "papers/shade/src/shade.tex", HIDDEN)
    write(
        root / "papers/shade/meta.json",
        {
            "id": "shade",
            "title": "Shade",
            "arxiv_id": None,
            "gold": {
                "code_links": [
                    cited("shade.tex", 2, "macro", url="https://github.com/lamplight/shade", visible_in_pdf=False)
                ]
            },
        },
    )
    write(root / "papers/stub/src/note.txt", TEMPLATE)
    write(root / "papers/stub/meta.json", {"id": "stub", "title": "Stub", "arxiv_id": "2501.00003", "gold": {}})
    write(root / "papers/stub/second_reader.json", {"paper_kind": None})
    write(
        root / "repos/lamplight+lantern.json",
        {
            "repo": "lamplight/lantern",
            "fetched": True,
            "default_branch": "main",
            "head_commit": "a" * 40,
            "head_date": "2025-01-02T00:00:00+00:00",
            "first_commit_date": "2024-01-02T00:00:00+00:00",
            "readme_path": "README.md",
            "license_spdx_by_text": None,
            "files": [
                {"path": "README.md", "size": 20, "type": "blob"},
                {"path": "train.py", "size": 2000, "type": "blob"},
                {"path": "eval.py", "size": 2000, "type": "blob"},
            ],
            "judgement": {"kind": "real_code", "relation": "official", "note": "two scripts"},
        },
    )
    write(root / "repos/lamplight+lantern.README.md", "# Lantern: Brighter Trees\nRun train.py.\n")
    write(root / "repos/lamplight+shade.json", {"repo": "lamplight/shade", "fetched": False})
    return root
