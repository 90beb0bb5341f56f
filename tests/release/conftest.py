"""The made edition, loaded by path: test folders are no packages."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


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
