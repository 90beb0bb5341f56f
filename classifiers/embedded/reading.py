"""Everything the policy reads in the paper before it looks at the world: claim, target, kind, needs, data. No
receipt enters here.
"""

from __future__ import annotations

from dataclasses import dataclass

from classifiers.embedded.candidates import Candidate
from classifiers.embedded.claim import Claim, OwnNames, find_claim, own_names
from classifiers.embedded.data import DataFound, find_data
from classifiers.embedded.kind import Trained, needs_of, paper_kind, training_of
from classifiers.embedded.target import Targets, find_targets
from pipeline.answers import Needs
from pipeline.paper import Paper
from pipeline.row import Kind


@dataclass(frozen=True, slots=True)
class Reading:
    """The steps of the guide in their order, each with what it found and why."""

    own: OwnNames
    claim: Claim | None
    targets: Targets
    kind: Kind
    needs: Needs
    trained: Trained
    data: DataFound

    @property
    def candidate(self) -> Candidate | None:
        return self.targets.candidate


def read_paper(paper: Paper) -> Reading:
    own = own_names(paper)
    claim = find_claim(paper, own)
    targets = find_targets(paper, claim, own)
    kind = paper_kind(paper, claim, targets.candidate)
    needs = needs_of(paper, claim, targets.candidate) if kind == "empirical" else Needs()
    return Reading(
        own=own,
        claim=claim,
        targets=targets,
        kind=kind,
        needs=needs,
        trained=training_of(paper, claim, targets.candidate, needs),
        data=find_data(paper, claim, targets.candidate, own) if kind == "empirical" else DataFound((), ""),
    )
