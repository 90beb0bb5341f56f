"""How long a release takes to verify: by the file it carries, by `reclaim verify`, and with all evidence replayed.

`uv run python -m tests.bench.verify [--papers 960] [--turns 3]`

The release is of a generated conference, built and decided here by a script that agrees with every row: 76 rows of
1,200 papers. Each command runs in a process of its own, its start included; the fastest of so many turns counts (one
for the replay). The peer is a process of the same interpreter that only hashes every file of the folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline.offline.generated import write_generated
from tests.bench.telling import Row, options, tell
from tests.e2e.tiny import Tiny, environment, filled_in
from tests.fuzz.releases import good_release, laid_out

HASH = "import hashlib, pathlib, sys; [hashlib.sha256(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).iterdir()]"
_EDITION = """\
conference = "Generated"
year = 2025
venue = "Generated.cc/2025/Conference"
as_of = 2025-12-01
world = "world"
seed = "verify-bench"
sample = {papers}
pool_size = {pool}
eval_size = {eval}
dev_per_tier = {dev}
"""


def released(folder: Path, papers: int, pool: int, eval_size: int, dev: int) -> tuple[Path, Path | None]:
    """A release and its evidence pack."""
    write_generated(folder / "world", papers + papers // 4, "verify-bench")
    tiny = Tiny(folder, "verify-bench")
    tiny.toml.write_text(_EDITION.format(papers=papers, pool=pool, eval=eval_size, dev=dev), encoding="utf-8")
    form, filled, pack = folder / "form.jsonl", folder / "decisions.jsonl", folder / "pack.zip"
    edition = ("--edition", str(tiny.toml))
    for codes, *command in (
        ((0, 5), "build", str(tiny.toml)),  # 5: it waits for people
        ((0,), "audit", "form", str(form), *edition),
        ((0,), "audit", "import", str(filled), *edition),
        ((0,), "build", str(tiny.toml)),
        ((0,), "evidence", "export", str(pack), *edition),
    ):
        if command[:2] == ["audit", "import"]:
            filled.write_text(filled_in(form.read_text(encoding="utf-8")), encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "-m", "assets.cli", *tiny.arguments(*command)],
            env=environment(Path.cwd()), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ran.returncode not in codes:
            raise SystemExit(f"reclaim {' '.join(command)}: {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    return tiny.releases()[-1], pack


LAUNCH = """
import json, os, subprocess, sys, tempfile, time
said = tempfile.TemporaryFile()
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=said)
_, status, used = os.wait4(process.pid, 0)
told = [os.waitstatus_to_exitcode(status), time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss]
if told[0]:
    said.seek(0)
    sys.stderr.write(said.read()[-5000:].decode(errors="replace"))
print(json.dumps(told))
"""


def timed(command: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and peak megabytes of a process that has to succeed. A small process starts
    it: a new process counts the memory of the one that it was forked from."""
    small = [sys.executable, "-I", "-S", "-c", LAUNCH, *command]
    ran = subprocess.run(small, env=environment(Path.cwd()), stdout=subprocess.PIPE, text=True, check=True)
    code, seconds, cpu, peak = json.loads(ran.stdout)
    if code:
        raise SystemExit(f"{' '.join(command)} ended with {code}")
    return seconds, cpu, peak / 1024


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--papers", type=int, default=960)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        # A quick run takes the small release that the tests make, which has no evidence pack.
        quick = (laid_out(good_release()), None) if given.quick else None
        folder, pack = quick or released(Path(name), given.papers, 200, 99, 5)
        counts = json.loads((folder / "manifest.json").read_bytes())["counts"]
        kept = sum(place.stat().st_size for place in folder.iterdir()) / 1e6
        reclaim = [sys.executable, "-m", "assets.cli", "verify", str(folder)]
        commands = {
            "sha256 of every file": [sys.executable, "-I", "-S", "-c", HASH, str(folder)],
            "python verify.py": [sys.executable, "-I", "-S", str(folder / "verify.py")],
            "reclaim verify": reclaim,
        }
        if pack is not None:
            commands["reclaim verify --evidence --replay"] = [*reclaim, "--evidence", str(pack), "--replay"]
        best = {}
        for who, command in commands.items():
            once = given.quick or "--replay" in command
            best[who] = min(timed(command) for _ in range(1 if once else given.turns))
        case = f"{counts['eval'] + counts['dev']} rows of {counts['index']:,} papers"
        base, rows = best["sha256 of every file"][0], list[Row]()
        for who, (seconds, cpu, peak) in best.items():
            replayed = {"pack_mb": pack.stat().st_size / 1e6} if pack and "--replay" in commands[who] else {}
            told = {
                "seconds": seconds,
                "cpu_seconds": cpu,
                "peak_mb": peak,
                "to_hashing_times": seconds / base,
                "folder_mb": kept,
            }
            rows.append({"bench": "verify", "case": case, "who": who, **told, **replayed})
    tell(rows, given.out)


if __name__ == "__main__":
    main()
