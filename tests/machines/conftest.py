"""The released tiny edition, and its workplace as a build has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.workplace import Workplace, workplace
from tests.e2e import tiny
from tests.e2e.tiny import Tiny


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return tiny.finished(tmp_path_factory)


@pytest.fixture
def copy(finished: Tiny, tmp_path: Path) -> Tiny:
    return finished.copy(tmp_path / "copy")


@pytest.fixture
def work(finished: Tiny) -> Iterator[Workplace]:
    """The builder's workplace. Its orders lie among its blobs; nothing else is written."""
    with workplace(str(finished.toml), finished.root) as found:
        yield found
