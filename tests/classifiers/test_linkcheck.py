"""The link check: outside the model, first in the episode, and honest about what it did not look at."""

from __future__ import annotations

from classifiers.linkcheck import ordered
from classifiers.toolbox import Limits
from pipeline.evidence import Outcome
from tests.classifiers.test_agent import answer, honest, scripted
from tests.classifiers.toys import CODE, OWN_CODE, FakeProbes, classify, method_paper, paper_input, places


def test_commented_and_uncited_places_are_looked_at_too() -> None:
    source = method_paper(links=OWN_CODE, body="\n% code: https://github.com/quill-lab/hidden-lead\n")
    probes = FakeProbes(places(code=CODE))
    classify(source, probes)
    asked = [a["repo"] for tool, a in probes.calls if tool == "github_repo"]
    assert asked[0] == "quill-lab/gizmo"
    assert "quill-lab/hidden-lead" in asked


def test_literature_is_not_fetched_but_repositories_in_the_bibliography_are() -> None:
    bibliography = (
        r"\begin{thebibliography}{9}\bibitem{a} A. \url{https://arxiv.org/abs/1234.56789}."
        r"\bibitem{b} B. \url{https://github.com/other/tool}.\end{thebibliography}"
    )
    source = method_paper(links=OWN_CODE, body=r"See \cite{a,b}.").replace(
        r"\end{document}", bibliography + r"\end{document}"
    )
    links = [link.url for link in ordered(paper_input(source).paper)]
    assert "https://github.com/other/tool" in links
    assert not any("arxiv.org" in url for url in links)


def test_links_over_the_bound_are_recorded_as_not_seen() -> None:
    many = " ".join(rf"\url{{https://site{i}.example.org/x}}" for i in range(12))
    probes = FakeProbes(places(code=CODE))
    episode = classify(method_paper(links=OWN_CODE, body=many), probes, limits=Limits(links=5))
    skipped = [r for r in episode.receipts if r.reason.startswith("not_probed")]
    assert len(skipped) == 8
    assert all(r.outcome is Outcome.UNDETERMINED and r.exchanges == () for r in skipped)


def test_the_same_place_is_asked_once_however_it_is_spelled() -> None:
    links = (
        OWN_CODE
        + r" \url{https://github.com/Quill-Lab/gizmo/tree/main/src} \url{https://github.com/quill-lab/gizmo.git}"
    )
    probes = FakeProbes(places(code=CODE))
    classify(method_paper(links=links), probes)
    assert sum(tool == "github_repo" for tool, _ in probes.calls) == 1


def test_links_of_an_own_readme_are_followed_and_of_a_strangers_not() -> None:
    own = (*CODE[:2], {**CODE[2], "readme_links": ["https://zenodo.org/records/1"]})
    other = (*CODE[:2], {**CODE[2], "names_paper": [], "readme_links": ["https://zenodo.org/records/2"]})
    world = {**places(code=own), "github:else/where": other}
    body = r"We compare with \url{https://github.com/else/where}."
    probes = FakeProbes(world)
    classify(method_paper(links=OWN_CODE, body=body), probes)
    fetched = [a["url"] for tool, a in probes.calls if tool == "fetch_url"]
    assert "https://zenodo.org/records/1" in fetched
    assert "https://zenodo.org/records/2" not in fetched


def test_the_supplements_files_are_listed_and_the_links_of_its_texts_followed() -> None:
    readme = {
        "supplement:": (Outcome.AVAILABLE, "2 files", {"code_files": 1, "train_entries": ["train.py"]}),
        "supplement:README.md": (Outcome.AVAILABLE, "file read", {"links": ["https://osf.io/abcde"]}),
    }
    probes = FakeProbes({**places(), **readme})
    supplement = (("README.md", 100), ("train.py", 900))
    episode = classify(method_paper(), probes, supplement=supplement)
    assert ("supplement_file", {"path": ""}) in probes.calls
    assert ("fetch_url", {"url": "https://osf.io/abcde"}) in probes.calls
    assert episode.answer is not None
    assert episode.answer.signals.code_available.value
    assert episode.answer.signals.code_available.artifacts == ["supplement:"]


def test_no_code_beside_a_living_linked_repository_is_flagged() -> None:
    source = method_paper(links=OWN_CODE)
    signals = honest()["signals"]
    for word in signals.values():
        word["receipts"] = []
    signals["code_available"]["value"] = False
    denier = scripted(lambda messages, info: answer(honest(signals=signals)))
    episode = classify(source, FakeProbes(places(code=CODE)), denier)
    assert "the paper links a live repository: github:quill-lab/gizmo" in episode.problem
