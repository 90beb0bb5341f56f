"""The workplace of the released tiny edition, as a build has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assets.workplace import Workplace, workplace
from tests.e2e.tiny import Tiny


@pytest.fixture
def work(finished: Tiny) -> Iterator[Workplace]:
    """The builder's workplace. Its orders lie among its blobs; nothing else is written."""
    with workplace(str(finished.toml), finished.root) as found:
        yield found
