"""Files that go with a release's tables: what people read, and the tools that need nothing installed.

They are sealed with the release and never derived again: a later wording of the card makes no release false.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pipeline import scoring
from pipeline.release import verify_alone
from pipeline.release.card import attribution, card, citation
from pipeline.release.compose import Composition, Material
from pipeline.release.contents import Contents
from pipeline.release.croissant import croissant
from pipeline.release.page import page
from pipeline.release.plots import figures
from pipeline.release.tables import documents, tables

COMPANIONS = (
    *("README.md", "ATTRIBUTION.md", "CITATION.cff", "croissant.json", "report.html", "score.py", "verify.py"),
    *("hours.svg", "months.svg", "funnel.svg", "pool.svg", "agreement.svg"),
)


def contents(name: str, material: Material, made: Composition, ledger_head: str) -> Contents:
    told = documents(material, made)
    return Contents(
        name=name,
        edition=told["edition.json"],
        funnel=told["funnel.json"],
        agreement=told["agreement.json"],
        lines=tables(material, made),
        edition_hash=material.edition.hash,
        ledger_head=ledger_head,
    )


def words(shown: Contents, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What is for reading and running, without what is drawn. `files`: the release's tables as they are written, which
    Croissant names by hash."""
    parquet = {n: (hashlib.sha256(b).hexdigest(), len(b)) for n, b in files.items() if n.endswith(".parquet")}
    texts = {
        "README.md": card(shown),
        "ATTRIBUTION.md": attribution(shown),
        "CITATION.cff": citation(shown),
        "croissant.json": json.dumps(croissant(shown, parquet), indent=1, ensure_ascii=False) + "\n",
        "score.py": Path(scoring.__file__).read_text(encoding="utf-8"),
        "verify.py": Path(verify_alone.__file__).read_text(encoding="utf-8"),
    }
    return {name: text.encode() for name, text in texts.items()}


def companions(shown: Contents, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """`files` as `words` takes them."""
    drawn = figures(shown)
    made = {name: text.encode() for name, text in ({"report.html": page(shown, drawn)} | drawn).items()}
    made |= words(shown, files)
    return {name: made[name] for name in COMPANIONS}
