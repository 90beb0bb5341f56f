"""The `reclaim` command. Each subcommand imports what it needs when it runs, so that quick things stay quick."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from pipeline import scoring

Run = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code. An error that a user can mend is one line on stderr, code 1."""
    arguments = _parser().parse_args(argv)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        run: Run = arguments.run
        return run(arguments)
    except KeyboardInterrupt:
        print("reclaim: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    except _user_errors() as error:
        print(f"reclaim: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        from pipeline.files import remedy

        if not remedy(error):
            raise
        print(f"reclaim: {error.filename or 'a file'}: {error.strerror}; {remedy(error)}", file=sys.stderr)
        return 1


def _in(module: str, name: str = "command") -> Run:
    """The subcommand `name` of a module that is imported when it runs."""

    def run(arguments: argparse.Namespace) -> int:
        code: int = getattr(import_module(module), name)(arguments)
        return code

    return run


def _user_errors() -> tuple[type[Exception], ...]:
    from assets.corpus import CorpusError
    from classifiers.budget import Stopped
    from pipeline.editions import EditionError
    from pipeline.ledger import LedgerError
    from pipeline.offline.values import WorldError
    from pipeline.release.changelog import HistoryError
    from pipeline.release.publication import Refusal
    from pipeline.release.registration import RegistrationError
    from pipeline.sources.trouble import FetchError
    from pipeline.store import StoreError

    # A file or folder of the user's that is not there, or not what it should be: the message has its name.
    places = (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, PermissionError)
    told = (
        CorpusError,
        EditionError,
        FetchError,
        HistoryError,
        LedgerError,
        Refusal,
        RegistrationError,
        StoreError,
        WorldError,
    )
    return (*told, Stopped, *places)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reclaim", description="Build a reproduction benchmark out of a conference's papers, and prove how."
    )
    parser.add_argument("--store", help="where generated things lie (default: RECLAIM_STORE, else data/store)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    one = commands.add_parser("build", help="bring an edition up to date, from its index to a frozen release")
    one.add_argument("edition", nargs="?", help="shipped name or .toml file (default: sample-2025)")
    one.add_argument("--world", type=Path, help="build from a world folder instead of an edition's own source")
    one.add_argument(
        "--refresh",
        type=_days,
        nargs="?",
        const=-1.0,
        metavar="DAYS",
        help="ask again what was answered more than DAYS ago (default: half the age that a freeze allows), and read "
        "the papers again whose evidence changed",
    )
    one.add_argument("--minutes", type=float, help="stop starting episodes after so many minutes")
    one.add_argument("--take-prefix", action="store_true", help="out of time, let the classified prefix be the sample")
    one.add_argument(
        "--classifier",
        metavar="NAME",
        help="embedded, openai:MODEL[@BASE_URL], anthropic:MODEL; makes an edition of its own (keys: OPENAI_API_KEY, "
        "ANTHROPIC_API_KEY, RECLAIM_MODEL_KEY for a base URL)",
    )
    one.add_argument(
        "--budget", metavar="LIMITS", help="of the edition's model turns, as usd=20,tokens=5000000 (RECLAIM_BUDGET)"
    )
    one.add_argument(
        "--accept",
        metavar="WHAT",
        help="unpriced: a model without a known price; unmeasured: one that tells no usage (RECLAIM_ACCEPT)",
    )
    one.add_argument(
        "--double-read", choices=["pool"], help="read the pool's rows a second time; what differs heads the queue"
    )
    one.add_argument(
        "--double-reader", metavar="NAME", help="who reads twice (default: the edition's own by another seed)"
    )
    one.add_argument(
        "--shards",
        metavar="N",
        help="read in N parts side by side (RECLAIM_SHARDS; default: one a core where only the processor is busy)",
    )
    one.add_argument(
        "--executor",
        metavar="NAME",
        help="who runs the parts: in-process, multiprocess or dask:tcp://HOST:PORT (RECLAIM_EXECUTOR; multiprocess)",
    )
    one.set_defaults(run=_in("assets.commands", "build"))

    one = commands.add_parser("worker", help="read papers for a build on another machine (extra `machines`)")
    one.add_argument("scheduler", metavar="tcp://HOST:PORT", help="the Dask scheduler that the build is told of")
    one.add_argument("--processes", type=int, default=1, metavar="N", help="one a core is right (1)")
    one.set_defaults(run=_in("assets.worker"))

    one = commands.add_parser("refresh", help="build a new edition, and tell how it differs from the last one")
    one.add_argument("edition", help="shipped name or .toml file of the new edition")
    one.add_argument(
        "--from",
        dest="previous",
        required=True,
        metavar="PREVIOUS",
        help="the last edition, or a folder of its release",
    )
    one.add_argument(
        "--cutoff", action="append", type=_month, metavar="YYYY-MM", help="count the rows posted by a model's cutoff"
    )
    one.set_defaults(run=_in("assets.refresh"))

    one = commands.add_parser("plan", help="what a build will ask of whom: requests, hours, tokens, dollars, disk")
    one.add_argument("edition", nargs="?")
    one.add_argument("--world", type=Path, help="plan for a world folder instead of an edition's own source")
    one.add_argument(
        "--pilot",
        type=_at_least_two,
        nargs="?",
        const=20,
        metavar="PAPERS",
        help="first run so many papers of the sample for real (default: 20)",
    )
    one.set_defaults(run=_in("assets.commands", "plan"))

    one = commands.add_parser("status", help="what is done, and what waits for whom, until when")
    one.add_argument("edition", nargs="?")
    one.set_defaults(run=_in("assets.commands", "status"))

    one = commands.add_parser("verify", help="prove a release from its files alone, here or on the Hub")
    one.add_argument("release", metavar="FOLDER|hub:ORG/NAME@TAG", help="a folder, or a tag on the Hugging Face Hub")
    one.add_argument(
        "--evidence", type=Path, metavar="PACK", help="also against papers and pages, from an evidence pack"
    )
    one.add_argument("--ledger-head", metavar="HASH", help="the ledger head that was published; another one fails")
    one.add_argument("--edition-hash", metavar="HASH", help="the edition hash that was published; another one fails")
    one.add_argument("--manifest", metavar="HASH", help="the manifest's hash that was published; another one fails")
    one.add_argument("--replay", action="store_true", help="make every receipt again from the evidence pack")
    one.add_argument("--live", type=int, metavar="N", help="probe N receipts anew and tell what drifted")
    one.add_argument("--seed", help="what --live draws by (default: the edition's seed)")
    one.add_argument("--world", type=Path, help="probe in this world folder, not where the edition was made")
    one.add_argument("--json", action="store_true", help="the report as JSON")
    one.set_defaults(run=_in("assets.verification"))

    one = commands.add_parser("publish", help="what publishing a release on the Hub would change; with --yes, do it")
    one.add_argument("what", nargs="?", metavar="EDITION|FOLDER", help="a release's folder, or an edition's newest one")
    one.add_argument(
        "--repo", required=True, metavar="ORG/NAME", help="the data set there; the release must name it too"
    )
    sent = one.add_mutually_exclusive_group()
    sent.add_argument("--dry-run", action="store_true", help="send nothing (what happens without --yes, too)")
    sent.add_argument("--yes", action="store_true", help="one commit with all files, then its tag (needs HF_TOKEN)")
    one.add_argument("--json", action="store_true", help="every change as JSON")
    one.set_defaults(run=_in("assets.publish"))

    one = commands.add_parser("register", help="make an edition's hash, later its ledger head, known on the Hub")
    one.add_argument("edition", nargs="?")
    one.set_defaults(run=_in("assets.publish", "register"))

    one = commands.add_parser("drift", help="probe the links of a frozen release again, and tell what became of them")
    one.add_argument("release", type=Path, help="its folder, or its name in this store")
    one.add_argument("--world", type=Path, help="probe in this world folder, not where the edition was made")
    one.add_argument("--accept", type=Path, metavar="FILE", help="put the errata left in a file into the ledger")
    one.add_argument("--who", help="the person who accepts them")
    one.set_defaults(run=_in("assets.drift"))

    one = commands.add_parser("score", help="hold measured values against a release's targets")
    scoring.add_arguments(one)
    one.set_defaults(run=scoring.command)

    one = commands.add_parser("task", help="what an agent is told to reproduce of one paper of a release")
    one.add_argument("release", type=Path)
    one.add_argument("paper", metavar="ID")
    one.set_defaults(run=_in("assets.commands", "task"))

    one = commands.add_parser("inspect", help="what the benchmark would say of one paper, and what is missing for Run")
    one.add_argument("paper", help="a source folder, an archive, or an arXiv id (asks arXiv and the paper's links)")
    one.add_argument("--world", type=Path, help="resolve links in a world folder instead of the network")
    one.add_argument("--live", action="store_true", help="resolve the links of a local source over the network")
    one.add_argument("--classifier", default="embedded")
    one.add_argument("--json", action="store_true", help="the report as JSON")
    one.set_defaults(run=_in("assets.inspect"))

    one = commands.add_parser("evaluate", help="hold classifiers against what readers labelled on gold papers")
    one.add_argument(
        "--gold", type=Path, required=True, metavar="FOLDER", help="papers/ID/{src,meta.json}, repos/*.json"
    )
    one.add_argument(
        "--classifier", action="append", metavar="NAME", help="may be given several times: side by side (embedded)"
    )
    one.add_argument("--repeat", type=_times, default=1, metavar="N", help="runs of each, held against themselves")
    one.add_argument("--json", type=Path, metavar="FILE", help="also write every judgement as JSON")
    one.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML page")
    one.set_defaults(run=_in("assets.evaluate"))

    one = commands.add_parser("what-if", help="the pool under other settings, from what is already known")
    one.add_argument("edition", nargs="?")
    one.add_argument("--cap", type=float, metavar="HOURS", help="cap of pool and splits, H100-hours")
    one.add_argument("--pool", type=int, metavar="ROWS", help="size of the pool")
    one.add_argument("--weights", type=_weights, help="band weights, cheapest band first, as 5/7/8")
    one.add_argument("--draw", choices=["cheapest", "seeded"])
    one.set_defaults(run=_in("assets.commands", "what_if"))

    audit = commands.add_parser("audit", help="what people decide").add_subparsers(dest="what", required=True)
    one = audit.add_parser("import", help="append decisions from a JSON Lines file; again changes nothing")
    one.add_argument("file", type=Path)
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.ledger_commands", "import_"))
    one = audit.add_parser("form", help="write a form for the rows that wait, to fill in and import")
    one.add_argument("file", type=Path)
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.ledger_commands", "form"))
    one = audit.add_parser("export", help="write the ledger's chains as JSON Lines, for another site")
    one.add_argument("file", type=Path)
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.ledger_commands", "export"))
    one = audit.add_parser(
        "adopt", help="take over another site's chains from its export, verified; again adds nothing"
    )
    one.add_argument("file", type=Path)
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.ledger_commands", "adopt"))
    users = audit.add_parser("user", help="who may enter the audit page").add_subparsers(dest="act", required=True)
    one = users.add_parser("add", help="make an account; the password is asked for, or read from a pipe")
    one.add_argument("name")
    one.add_argument("--role", choices=["auditor", "adjudicator", "admin"], default="auditor")
    one.set_defaults(run=_in("assets.ui", "add_user"))
    one = audit.add_parser("status", help="how many rows wait, are stale or disputed")
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.ledger_commands", "status"))

    evidence = commands.add_parser("evidence", help="what may not be redistributed").add_subparsers(
        dest="what", required=True
    )
    one = evidence.add_parser("export", help="write papers and pages behind a release as an evidence pack")
    one.add_argument("pack", type=Path)
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.commands", "evidence_export"))

    one = commands.add_parser("sql", help="ask an edition's tables, in DuckDB's SQL")
    one.add_argument("query")
    one.add_argument("--edition")
    one.set_defaults(run=_in("assets.commands", "sql"))

    one = commands.add_parser("offline", help="serve an offline world by itself")
    one.add_argument("folder", type=Path, nargs="?")
    one.add_argument("--port", type=int, default=0)
    one.set_defaults(run=_in("assets.commands", "offline"))

    one = commands.add_parser("editions", help="the editions at hand, with their hashes")
    one.set_defaults(run=_in("assets.commands", "editions"))

    one = commands.add_parser("ui", help="the audit page over this store, and Dagster's UI beside it")
    one.add_argument("edition", nargs="?")
    one.add_argument("--port", type=int, default=3000, help="Dagster's port")
    one.add_argument("--audit-port", type=int, default=3001)
    one.add_argument("--audit-host", default="127.0.0.1", help="beyond loopback needs TLS files or --behind-proxy")
    one.add_argument("--tls-cert", type=Path)
    one.add_argument("--tls-key", type=Path)
    one.add_argument("--behind-proxy", metavar="NAME", help="the host name under which a proxy brings TLS")
    one.add_argument("--share", type=float, default=0.25, help="of the rows that two people read, 0.25 to 1")
    one.add_argument("--no-dagster", action="store_true", help="the audit page alone")
    one.set_defaults(run=_in("assets.ui"))
    return parser


def _weights(text: str) -> list[int]:
    if not all(part.isdecimal() for part in text.split("/")):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers like 5/7/8")
    return [int(part) for part in text.split("/")]


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days <= 3650:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days from 0 to 3650")
    return days


def _month(text: str) -> str:
    if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no month like 2025-06")
    return text


def _times(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs from 1 to 100")
    return int(text)


def _at_least_two(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} papers tell no spread; give 2 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
