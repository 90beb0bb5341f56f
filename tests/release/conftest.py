"""The made edition, loaded by path: test folders are no packages."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.evidence import digest
from pipeline.release import companions
from pipeline.release.contents import Contents


def load_made() -> ModuleType:
    if "reclaim_made" not in sys.modules:
        spec = importlib.util.spec_from_file_location("reclaim_made", Path(__file__).with_name("made.py"))
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["reclaim_made"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["reclaim_made"]


@pytest.fixture(scope="session")
def made() -> ModuleType:
    return load_made()


@pytest.fixture(scope="session", autouse=True)
def drawn_once() -> Iterator[None]:
    """The same tables give the same figures, which take half a second to draw: here they are drawn once."""
    kept: dict[str, dict[str, str]] = {}
    draw = companions.figures

    def drawn(shown: Contents) -> dict[str, str]:
        key = digest(
            [
                dict(shown.edition),
                dict(shown.funnel),
                dict(shown.agreement),
                {t: shown.lines[t] for t in ("eval", "dev", "selection")},
            ]
        )
        if key not in kept:
            kept[key] = draw(shown)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(companions, "figures", drawn)
        yield
