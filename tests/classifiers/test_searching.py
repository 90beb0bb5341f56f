"""What the embedded classifier looks for, and where: leads first, then the searches that absence needs."""

from __future__ import annotations

from classifiers.embedded.plan import _code_queries
from pipeline.evidence import Outcome, Signal, Status
from pipeline.tiers import Tier
from tests.classifiers.toys import CODE, OWN_CODE, FakeProbes, Found, classify, derived, method_paper, places

PAGE = r"Project page: \url{https://gizmo-lab.example.org/gizmo}."
DEAD: Found = (Outcome.UNDETERMINED, "unreachable", {})


def queries(probes: FakeProbes, tool: str) -> set[str]:
    return {a["query"] for name, a in probes.calls if name == tool}


def test_behind_a_page_that_does_not_answer_a_repository_that_names_the_paper_is_found_by_name():
    source = method_paper(links=PAGE)
    hits = {"github_search_repositories": ["quill-lab/gizmo"]}
    probes = FakeProbes({**places(code=CODE), "url:https://gizmo-lab.example.org/gizmo": DEAD}, hits=hits)
    row = derived(source, classify(source, probes))
    assert (row.label(Signal.CODE).value, row.label(Signal.CODE).status) == (True, Status.CONFIRMED)


def test_a_page_that_leads_nowhere_is_followed_by_two_searches_of_repositories_and_one_of_models():
    source = method_paper(links=PAGE)
    page: Found = (Outcome.AVAILABLE, "page read", {"links": [], "names_paper": ["title"]})
    probes = FakeProbes({**places(), "url:https://gizmo-lab.example.org/gizmo": page})
    row = derived(source, classify(source, probes))
    assert len(queries(probes, "github_search_repositories")) >= 2
    assert len(queries(probes, "hub_search")) >= 1
    assert row.tier is Tier.REIMPLEMENT


def test_a_tool_that_breaks_on_a_lead_does_not_keep_the_searches_from_being_made():
    source = method_paper(links=PAGE)
    page: Found = (Outcome.AVAILABLE, "page read", {"links": ["https://github.com/quill-lab/other"]})
    probes = FakeProbes({**places(), "url:https://gizmo-lab.example.org/gizmo": page}, broken=("github_repo",))
    classify(source, probes)
    assert len(queries(probes, "github_search_repositories")) >= 2


def test_a_title_of_one_word_makes_two_different_searches_and_a_version_is_dropped_from_a_name():
    assert len(set(_code_queries("MatShrink", ["MatShrink"], "We compress consecutive linear layers."))) == 2
    found = _code_queries("TextAtlas5M: A Large Dataset for Long Text", ["TextAtlas5M"], "")
    assert "TextAtlas" in found


def test_an_adapter_counts_as_weights_once_its_base_is_seen_to_be_open():
    links = OWN_CODE + r" We release the adapter at \url{https://huggingface.co/quill-lab/gizmo-resnet18}."
    source = method_paper(links=links)
    facts = {"weights_open": ["adapter.safetensors"], "adapter_only": True, "base_model": "big/base"}
    adapter: Found = (Outcome.AVAILABLE, "3 files", facts)
    alone = FakeProbes(places(code=CODE, weights=adapter))
    assert derived(source, classify(source, alone)).label(Signal.WEIGHTS).value is not True
    assert ("hub_repo", {"kind": "model", "repo": "big/base"}) in alone.calls
    open_base: Found = (Outcome.AVAILABLE, "9 files", {"weights_open": ["model.safetensors"], "adapter_only": False})
    both = FakeProbes({**places(code=CODE, weights=adapter), "hf:model:big/base": open_base})
    row = derived(source, classify(source, both))
    assert (row.label(Signal.WEIGHTS).value, row.tier) == (True, Tier.RUN)


def test_the_untouched_base_model_is_never_the_papers_weights():
    links = OWN_CODE + r" We start from the model at \url{https://huggingface.co/big/base}."
    source = method_paper(links=links)
    base: Found = (Outcome.AVAILABLE, "9 files", {"weights_open": ["model.safetensors"], "adapter_only": False})
    row = derived(source, classify(source, FakeProbes({**places(code=CODE), "hf:model:big/base": base})))
    assert row.label(Signal.WEIGHTS).value is False


def test_where_the_title_does_not_bear_the_methods_name_the_hub_is_asked_for_the_title_too():
    source = method_paper(links="Our code will be released.", abstract="We introduce GizmoNet. GizmoNet gains 3.1\\%.")
    source = source.replace("Gizmo: A Memory for Networks That Forget", "Remembering in Forgetful Networks")
    source = source.replace("Gizmo ", "GizmoNet ")
    probes = FakeProbes(places())
    row = derived(source, classify(source, probes))
    asked = {a["query"] for tool, a in probes.calls if tool == "hub_search" and a["kind"] == "model"}
    assert {"GizmoNet", "Remembering Forgetful"} <= asked
    assert row.label(Signal.WEIGHTS).status is Status.CONFIRMED


def test_every_search_result_that_bears_the_name_is_looked_at_before_absence_is_said():
    source = method_paper(links="Our code will be released.")
    hits = {"github_search_repositories": [f"user{n}/gizmo" for n in range(6)]}
    probes = FakeProbes(places(), hits=hits)
    classify(source, probes)
    looked = {a["repo"] for tool, a in probes.calls if tool == "github_repo"}
    assert looked == {f"user{n}/gizmo" for n in range(6)}


def test_a_target_without_a_named_data_set_asks_the_hub_for_data_under_the_papers_name():
    source = method_paper(
        links=OWN_CODE,
        abstract="We introduce Gizmo. Gizmo reaches an error of 0.041.",
        table=r"\begin{table}\caption{Error.}\begin{tabular}{lc}Method & Error \\ \hline "
        r"Base & 0.9 \\ Gizmo & 0.041 \\ \end{tabular}\end{table}",
    ).replace("CIFAR-10 is used with its standard split. ", "")
    probes = FakeProbes(places(code=CODE))
    row = derived(source, classify(source, probes))
    assert ("hub_search", "dataset") in {(tool, a.get("kind")) for tool, a in probes.calls}
    assert (row.label(Signal.DATA).value, row.label(Signal.DATA).status) == (False, Status.CONFIRMED)
