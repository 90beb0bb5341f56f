"""Repositories that papers name: looked up on GitHub before the agents start, with the commit at the posting date."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from assets.workplace import Workplace
from classifiers import linkcheck
from classifiers.toolbox import Limits
from pipeline import artifacts
from pipeline.corpus import PaperRecord
from pipeline.evidence import Json, Outcome, Receipt
from pipeline.paper import Paper

if TYPE_CHECKING:
    from pipeline.sources.github_lookup import Question
    from pipeline.sources.github_tokens import Tokens
    from pipeline.sources.recorder import Recorder


def tokens(work: Workplace) -> Tokens:
    """GitHub's tokens of this run. In an offline world, whose evidence must not depend on what else the environment
    holds, only those that were meant for this program."""
    from pipeline.sources.github_tokens import Tokens

    return Tokens.from_environment(os.environ, own_only=work.offline)


def look_up(work: Workplace, recorder: Recorder, tokens: Tokens, papers: Iterable[tuple[PaperRecord, Paper]]) -> None:
    """Ask GitHub in batches for every repository that a paper links to; the probes then find it in the record. Without
    a token there is no such call, and the probes ask one by one."""
    if not tokens:
        return
    from pipeline.sources import github_batches

    questions = [question for record, paper in papers for question in _questions(record, paper)]
    found = github_batches.look_up(recorder, tokens, questions)
    if found.calls:
        work.say(
            f"GitHub: {found.told + found.gone} answers in {found.calls} calls, {found.known} known before, "
            f"{found.gone} say there is no such repository, {len(found.left)} left to the probes"
        )


def _questions(record: PaperRecord, paper: Paper) -> Iterator[Question]:
    """Of the links that the link check will follow, and no more: a source may name a thousand repositories."""
    from pipeline.sources.github_lookup import Question
    from pipeline.sources.on_github import split_name

    subjects = dict.fromkeys(artifacts.subject(link.url) for link in linkcheck.ordered(paper))
    for subject in list(subjects)[: Limits().links]:
        kind, _, name = subject.partition(":")
        parts = split_name(name) if kind == "github" else None
        if parts is None:
            continue
        repo = "/".join(parts).lower()
        yield Question(repo)
        if record.published:
            yield Question(repo, record.published)


def commits(recorder: Recorder, records: Iterable[PaperRecord], receipts: Iterable[Receipt]) -> Iterator[Json]:
    """For each paper and repository that was there: the commit that its receipts are about, and the newest one on the
    paper's posting date (arXiv's first version); None where the record does not have it."""
    from pipeline.sources.github_lookup import commit_by

    posted = {record.arxiv_id: record.published for record in records}
    made = {}
    for receipt in receipts:
        at, facts = posted.get(receipt.paper), receipt.facts
        if not at or receipt.outcome is not Outcome.AVAILABLE or not receipt.subject.startswith("github:"):
            continue
        if commit := facts.get("commit"):
            repo, asked = receipt.subject.removeprefix("github:"), str(facts.get("asked") or facts["full_name"])
            made[receipt.paper, repo, str(commit)] = {
                "arxiv_id": receipt.paper,
                "repository": repo,
                "commit": commit,
                "posted": at,
                "commit_at_posting": commit_by(recorder, asked, at),
            }
    return (row for _, row in sorted(made.items()))
