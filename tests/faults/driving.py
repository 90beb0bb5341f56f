"""A build without Dagster, in this process: what is stale, stage after stage, under the edition's lock."""

from __future__ import annotations

import pytest

from assets.stages import prints, stages, stale
from assets.workplace import workplace
from tests.e2e.tiny import Tiny


def drive(tiny: Tiny, upto: str = "release") -> list[str]:
    """Run what is stale, up to one stage; returns the names of the stages that ran."""
    ran = []
    with workplace(str(tiny.toml), tiny.root, say=lambda line: None) as work, work.store.lock(tiny.name):
        present = prints(work)
        todo = stale(work, present)
        for stage in stages():
            if stage in todo:
                stage.run(work, present[stage.name])
                ran.append(stage.name)
            if stage.name == upto:
                break
        work.keep_world()
    return ran


def told(tiny: Tiny, capsys: pytest.CaptureFixture[str], *command: str) -> tuple[int, str]:
    """Exit code of a command, and all it said."""
    capsys.readouterr()
    code = tiny.run(*command)
    said = capsys.readouterr()
    return code, said.out + said.err


def one_line(said: str) -> str:
    """What a failed command said, which is one line."""
    lines = said.strip().splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith("reclaim: "), said
    return lines[0]
