"""The edition that the release's tests make, shared by path: test folders are no packages."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def made() -> ModuleType:
    if "reclaim_made" not in sys.modules:
        place = Path(__file__).resolve().parent.parent / "release" / "made.py"
        spec = importlib.util.spec_from_file_location("reclaim_made", place)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["reclaim_made"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["reclaim_made"]
