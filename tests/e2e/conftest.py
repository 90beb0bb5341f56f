"""One released tiny edition for all tests here; what changes it works on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import Tiny


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return tiny.finished(tmp_path_factory)


@pytest.fixture
def copy(finished: Tiny, tmp_path: Path) -> Tiny:
    return finished.copy(tmp_path / "copy")
