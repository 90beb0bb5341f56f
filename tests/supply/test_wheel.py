"""The wheel holds our code and data and nothing of the machine that built it, is the same however it is built, and in
an environment of its own, with the locked packages and no network, releases what the checkout releases."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from packaging.utils import canonicalize_name

from pipeline.editions import load
from tests.e2e.tiny import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

OURS = ("pipeline", "classifiers", "audit_ui", "assets")
FILES = ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "uv.lock", ".gitignore")
LEFTOVERS = ("data/store/record.sqlite", "pipeline/__pycache__/row.cpython-311.pyc", "data/editions/__pycache__/a.pyc")
DATA = ("editions", "reference", "offline")
PLANTED = "planted-4711"
"""Part of every key and password in the environment that builds the wheel and runs it."""
KEYS = ("GITHUB_TOKEN", "HF_TOKEN", "OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
        "RECLAIM_MODEL_KEY", "UV_PUBLISH_TOKEN")  # fmt: skip
SECRETS = {name: f"{name.lower()}-{PLANTED}" for name in KEYS}
TELL = ROOT / "tests" / "supply" / "alone.py"


def missing(request: pytest.FixtureRequest, reason: str) -> NoReturn:
    if request.config.getoption("--require-services"):
        pytest.fail(reason)
    pytest.skip(reason)


def uv(request: pytest.FixtureRequest, tree: Path, *arguments: str, **variables: str) -> None:
    """uv on a checkout, from what it has fetched before: the very files that the lock names."""
    place = os.environ.get("UV") or shutil.which("uv")
    if not place:
        missing(request, "uv is not on this machine")
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "SOURCE_DATE_EPOCH")}
    said = subprocess.run(
        [place, *arguments, "--offline", "--quiet"],
        cwd=tree, env=kept | SECRETS | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if said.returncode and "in the cache" in said.stderr:
        missing(request, f"uv has not fetched all that this needs before: {' '.join(said.stderr.split())[:300]}")
    assert said.returncode == 0, said.stderr


@dataclass(frozen=True)
class Built:
    """The checkout as it was, the source distribution, the wheel made from that, and the wheel made from the checkout
    with other file modes."""

    tree: Path
    sdist: Path
    wheel: Path
    direct: Path

    def files(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.wheel) as packed:
            return {name: packed.read(name) for name in packed.namelist()}

    def sources(self) -> dict[str, bytes]:
        with tarfile.open(self.sdist) as packed:
            members = [member for member in packed if member.isfile()]
            return {m.name.split("/", 1)[1]: packed.extractfile(m).read() for m in members}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    tree, one, other = (tmp_path_factory.mktemp(name) for name in ("tree", "sdist", "direct"))
    for name in (*OURS, "data", "docs", "tests", ".ci"):
        shutil.copytree(
            ROOT / name,
            tree / name,
            ignore=lambda place, _: ["__pycache__", *(["store"] if Path(place) == ROOT / "data" else [])],
        )
    for left in LEFTOVERS:  # what a checkout that was worked in has
        (tree / left).parent.mkdir(parents=True)
        (tree / left).write_text("left over", encoding="utf-8")
    for name in FILES:
        shutil.copy(ROOT / name, tree)
    pinned = ("--build-constraints", ".ci/build-constraints.txt", "--require-hashes")
    uv(request, tree, "build", *pinned, "-o", str(one))
    for path in tree.rglob("*"):
        path.chmod(path.stat().st_mode ^ stat.S_IWGRP)
    uv(request, tree, "build", *pinned, "--wheel", "-o", str(other))
    (sdist,), (wheel,), (direct,) = one.glob("*.tar.gz"), one.glob("*.whl"), other.glob("*.whl")
    return Built(tree, sdist, wheel, direct)


def test_the_wheel_holds_our_code_and_data_and_nothing_else(built: Built) -> None:
    expected = {}
    for source, target in [(one, one) for one in OURS] + [(f"data/{one}", f"pipeline/_data/{one}") for one in DATA]:
        for path in (built.tree / source).rglob("*"):
            if path.is_file() and path.relative_to(built.tree).as_posix() not in LEFTOVERS:
                expected[f"{target}/{path.relative_to(built.tree / source).as_posix()}"] = path.read_bytes()
    files = built.files()
    own = {name: data for name, data in files.items() if ".dist-info/" not in name}
    assert sorted(own) == sorted(expected)
    assert own == expected
    named = {name.split("/", 1)[1] for name in files if ".dist-info/" in name}
    assert named == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_holds_what_a_reader_and_a_builder_need_and_no_leftovers(built: Built) -> None:
    names = set(built.sources())
    assert {"pyproject.toml", "uv.lock", "LICENSE", "README.md", "CHANGELOG.md", "docs/licences.md"} <= names
    assert {"tests/supply/test_wheel.py", "data/editions/sample-2025.toml", "audit_ui/static/htmx.LICENSE"} <= names
    assert {name.split("/")[0] for name in names} == {*OURS, "data", "docs", "tests", "PKG-INFO", *FILES}
    assert not names & set(LEFTOVERS)


def test_nothing_of_the_machine_is_in_what_it_built(built: Built) -> None:
    machine = {str(ROOT), str(built.tree), str(Path.home()) + "/", PLANTED}
    machine |= {value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")) and "/" in value[1:]}
    for packed in (built.files(), built.sources()):
        assert len(packed) > 300
        for name, data in packed.items():
            found = [value for value in machine if value.encode() in data and not name.startswith("tests/")]
            assert found == [], name


def test_the_wheel_has_the_same_bytes_however_it_is_built(built: Built, tmp_path: Path) -> None:
    wheel = built.wheel.read_bytes()
    assert hashlib.sha256(built.direct.read_bytes()).hexdigest() == hashlib.sha256(wheel).hexdigest()
    with zipfile.ZipFile(built.wheel) as packed:
        assert {one.date_time[:3] for one in packed.infolist()} == {(2020, 2, 2)}  # no day of anybody's is in it
    pinned = (ROOT / ".ci" / "build-constraints.txt").read_text(encoding="utf-8")
    (generator,) = [line for line in built.files()[wheel_file(built)].decode().splitlines() if "Generator" in line]
    assert generator.removeprefix("Generator: ").replace(" ", "==") in pinned


def wheel_file(built: Built) -> str:
    (name,) = [name for name in built.files() if name.endswith(".dist-info/WHEEL")]
    return name


@dataclass(frozen=True)
class Ran:
    """A build of the sample by the installed wheel. `told`: what `alone` counted; None where it could not run."""

    code: int
    said: str
    folder: Path
    told: dict[str, int] | None

    def asked(self, code: str) -> str:
        """What the clean environment's Python prints."""
        python = str(self.folder / "env" / "bin" / "python")
        said = subprocess.run([python, "-c", code], cwd=self.folder, capture_output=True, text=True, check=True)
        return said.stdout.strip()

    @property
    def release(self) -> Path:
        (release,) = (self.folder / "here" / "reclaim-store" / "releases").glob("sample-2025-v*")
        return release


@functools.cache
def isolating() -> tuple[str, ...]:
    """The words before a command that leave it alone on this machine, or none where that is not allowed."""
    for words in (("unshare", "-n"), ("unshare", "-r", "-n")):
        if shutil.which(words[0]) and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            return words
    return ()


def reclaim(folder: Path, *arguments: str) -> tuple[int, str, dict[str, int] | None]:
    """The command of the clean environment: its exit code, all it said, and what was counted where it ran alone."""
    alone, told = isolating(), folder / "told.json"
    counted = [*alone, sys.executable, str(TELL), str(told)] if alone else []
    places = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary")}
    said = subprocess.run(
        [*counted, str(folder / "env" / "bin" / "reclaim"), *arguments],
        cwd=folder / "here",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **SECRETS, **places},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    return said.returncode, said.stdout + said.stderr, json.loads(told.read_text()) if alone else None


@pytest.fixture(scope="module")
def ran(built: Built, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Ran:
    folder = tmp_path_factory.mktemp("clean")
    uv(
        request,
        built.tree,
        "sync",
        "--frozen",
        "--no-dev",
        "--no-install-project",
        UV_PROJECT_ENVIRONMENT=str(folder / "env"),
    )
    uv(
        request,
        built.tree,
        "pip",
        "install",
        "--no-deps",
        "--python",
        str(folder / "env" / "bin" / "python"),
        str(built.wheel),
    )
    for name in ("here", "home", "temporary"):
        (folder / name).mkdir()
    if not isolating() and request.config.getoption("--require-services"):
        missing(request, "no network namespace can be made here (unshare -n)")
    code, said, told = reclaim(folder, "build")
    return Ran(code, said, folder, told)


def test_the_installed_wheel_releases_the_sample(ran: Ran) -> None:
    assert ran.code == 0, ran.said
    manifest = json.loads((ran.release / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["edition_hash"] == load("sample-2025").hash
    assert Path(ran.asked("import pipeline; print(pipeline.__file__)")).is_relative_to(ran.folder / "env")


def test_the_installed_packages_are_the_locked_ones(ran: Ran) -> None:
    asked = "import json, importlib.metadata as m; print(json.dumps([(d.name, d.version) for d in m.distributions()]))"
    installed = {canonicalize_name(name): version for name, version in json.loads(ran.asked(asked))}
    assert installed.pop("reclaim")
    locked: dict[str, set[str]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]:
        locked.setdefault(package["name"], set()).add(package["version"])
    assert len(installed) > 80
    for name, version in installed.items():
        assert version in locked[name], name
    assert not {"pytest", "mypy", "hypothesis", "dagster-dg-cli"} & set(installed)


def test_a_build_of_the_sample_reaches_loopback_alone(ran: Ran) -> None:
    if ran.told is None:
        pytest.skip("no network namespace can be made here (unshare -n)")
    assert ran.told["tcp"] > 10  # it did ask, and those it asked are on loopback
    assert (ran.told["no_route"], ran.told["udp"]) == (0, 0)


def test_checking_a_release_asks_nobody(ran: Ran) -> None:
    code, said, told = reclaim(ran.folder, "verify", str(ran.release))
    assert code == 0, said
    if told is None:
        pytest.skip("no network namespace can be made here (unshare -n)")
    assert told == {"no_route": 0, "udp": 0, "tcp": 0}


def test_a_build_leaves_nothing_outside_its_store_but_the_list_of_fonts(ran: Ran) -> None:
    assert [path.name for path in (ran.folder / "here").iterdir()] == ["reclaim-store"]
    assert list((ran.folder / "temporary").iterdir()) == []
    home = [path.relative_to(ran.folder / "home") for path in (ran.folder / "home").rglob("*") if path.is_file()]
    assert {path.parent.as_posix() for path in home} <= {".cache/matplotlib"}


def test_no_key_of_the_environment_is_in_a_store_a_release_or_what_a_build_says(ran: Ran) -> None:
    store = [path for path in (ran.folder / "here").rglob("*") if path.is_file()]
    assert len(store) > 100
    for path in store:
        assert PLANTED.encode() not in path.read_bytes(), path.name
    assert PLANTED not in ran.said


def test_whatever_tries_to_leave_is_counted(tmp_path: Path) -> None:
    alone = isolating()
    if not alone:
        pytest.skip("no network namespace can be made here (unshare -n)")
    tries = {
        "no_route": "import socket\nassert socket.socket().connect_ex(('192.0.2.1', 80))",
        "udp": "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('127.0.0.53', 53))",
    }
    for what, code in tries.items():
        tell = tmp_path / what
        subprocess.run([*alone, sys.executable, str(TELL), str(tell), sys.executable, "-c", code], check=True)
        told = json.loads(tell.read_text())
        assert {name: told[name] > 0 for name in tries} == {name: name == what for name in tries}
