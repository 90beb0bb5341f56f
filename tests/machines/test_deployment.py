"""What the pages and files on deployment name exists: commands, options, programs, variables."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.cli import _parser

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "docs" / "deploy"
PAGES = [*(ROOT / "docs").glob("*.md"), *DEPLOY.iterdir()]
PROGRAMS = ("reclaim", "dask", "dagster-webserver", "dagster-daemon")


def containers(value: Any) -> Iterator[dict[str, Any]]:
    """Everything in a YAML document that starts a program."""
    if isinstance(value, dict):
        if value.keys() & {"command", "entrypoint"}:
            yield value
        for part in value.values():
            yield from containers(part)
    elif isinstance(value, list):
        for part in value:
            yield from containers(part)


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def commands() -> list[list[str]]:
    """Every command line of ours, in the pages' blocks of code and in the YAML files."""
    found = []
    for page in (ROOT / "docs").glob("*.md"):
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found += [line.split("#")[0].split() for line in block.splitlines() if line.startswith(PROGRAMS)]
    for name in ("compose.yaml", "kubernetes.yaml"):
        started = [part for document in documents(name) for part in containers(document)]
        lines = [[*part.get("entrypoint", []), *part.get("command", [])] for part in started]
        found += [line for line in lines if line and line[0] in PROGRAMS]
    return found


def test_every_reclaim_command_on_the_pages_parses(capsys: pytest.CaptureFixture[str]) -> None:
    own = [line for line in commands() if line[0] == "reclaim"]
    assert {line[1] for line in own} >= {"build", "worker", "ui"}
    for line in own:
        try:
            _parser().parse_args(line[1:])
        except SystemExit:
            pytest.fail(f"{' '.join(line)}: {capsys.readouterr().err}")


def test_every_program_on_the_pages_is_installed_with_us() -> None:
    named = {line[0] for line in commands()}
    assert named == set(PROGRAMS)
    for program in named:
        assert shutil.which(program, path=str(Path(sys.executable).parent)), program


def test_every_variable_of_ours_on_the_pages_is_read_by_the_code() -> None:
    code = "\n".join(p.read_text(encoding="utf-8") for part in ("pipeline", "classifiers", "assets", "audit_ui")
                     for p in (ROOT / part).rglob("*.py"))  # fmt: skip
    named = {name for page in PAGES for name in re.findall(r"\bRECLAIM_[A-Z_]+\b", page.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert {name for name in named if name not in code} == set()


def test_images_are_one_for_builder_and_workers() -> None:
    compose, kubernetes = documents("compose.yaml"), documents("kubernetes.yaml")
    ours = [part for part in containers([compose, kubernetes]) if part.get("command", [""])[0] in PROGRAMS]
    assert {part["image"] for part in ours} == {"reclaim:0.1.0"}
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert version is not None
    assert version[1] == "0.1.0"


def test_no_secret_is_written_down() -> None:
    for page in DEPLOY.iterdir():
        text = page.read_text(encoding="utf-8")
        for name, value in re.findall(r"\b(\w*(?:PASSWORD|SECRET|KEY|TOKEN)\w*): +\"?([^\s,}\"]+)", text):
            assert value.startswith("${"), f"{page.name}: {name}"
