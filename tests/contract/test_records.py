"""Record hosts and mirrors behind the web probe: with `--live`, what well-known public and gated records are told as.

Offline their forms are rows of the world (tests/sources/reality); here is only what a network alone can show.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import reference
from pipeline.evidence import Outcome
from pipeline.sources.clocks import SystemClock
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import Recorder
from pipeline.store import Store


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("https://zenodo.org/records/7711810", Outcome.AVAILABLE),  # EuroSAT
        ("https://figshare.com/articles/dataset/brain_tumor_dataset/1512427", Outcome.AVAILABLE),
        ("https://osf.io/ezcuj/", Outcome.AVAILABLE),  # Reproducibility Project: Psychology
        ("https://physionet.org/content/mitdb/1.0.0/", Outcome.AVAILABLE),
        ("https://physionet.org/content/mimiciv/3.1/", Outcome.GATED),
        ("https://anonymous.4open.science/r/no-such-repository-9f3ad1", Outcome.UNDETERMINED),  # gone, said once
        ("https://drive.google.com/file/d/1no-such-file-9f3ad1/view", Outcome.UNDETERMINED),
        ("https://www.dropbox.com/s/nosuchfile9f3ad1/data.zip?dl=1", Outcome.UNDETERMINED),
        ("https://no-such-name-9f3ad1.org/data.zip", Outcome.UNDETERMINED),
    ],
)
def test_a_known_record_is_told_for_what_it_is(url: str, outcome: Outcome, live: bool, tmp_path: Path) -> None:
    if not live:
        pytest.skip("asks the real hosts; run with --live")
    recorder = Recorder(Store(tmp_path), SystemClock(), run="contract", epoch="live:contract")
    probes = Probes(
        "2505.00001", recorder, {}, PaperFacts(title="Lantern Attention for Foggy Graphs"), reference.walls()
    )
    receipt = probes.fetch_url(url).receipt
    assert receipt.outcome is outcome, receipt.reason
