"""The one table from receipts to labels, row by row, and what a lying classifier cannot do to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evidence import Outcome, Receipt, Signal, Status, Verification
from pipeline.labels import Claim, Context, label

REPO, FOREIGN = "github:ours/code", "github:theirs/code"


def receipt(subject: str = REPO, outcome: Outcome = Outcome.AVAILABLE, tool: str = "github_repo", **facts) -> Receipt:
    return Receipt(
        paper="2505.90001",
        tool=tool,
        arguments={"of": subject, "q": facts.get("query", "")},
        exchanges=(f"{subject}{outcome}{sorted(facts.items())}",),
        outcome=outcome,
        reason="",
        subject=subject,
        facts=facts,
    )


def search(query: str, tool: str = "github_search_repositories", complete: bool = True) -> Receipt:
    outcome = Outcome.AVAILABLE if complete else Outcome.UNDETERMINED
    return receipt("search:github", outcome, tool, complete=complete, query=query)


CODE = Context(groups=(frozenset({REPO}),), absence_searches={"github": 2, "hub": 1})
GOOD = receipt(code_files=4, train_entries=["train.py"])


def judge(*receipts: Receipt, value: bool = True, context: Context = CODE, signal: Signal = Signal.CODE, cited=()):
    return label(Claim(signal=signal, value=value, cited=tuple(cited)), receipts, context)


def test_available_with_its_rule_met_is_true_and_tool_verified():
    found = judge(GOOD)
    assert (found.value, found.verification, found.status) == (True, Verification.TOOL_VERIFIED, Status.CONFIRMED)
    assert found.receipts == (GOOD.id,)


@pytest.mark.parametrize("outcome", [Outcome.GATED, Outcome.UNAVAILABLE])
def test_gated_or_gone_is_false_and_tool_verified(outcome):
    found = judge(receipt(outcome=outcome), value=False)
    assert (found.value, found.verification, found.status) == (False, Verification.TOOL_VERIFIED, Status.CONFIRMED)


def test_nothing_found_is_false_only_after_enough_distinct_complete_searches():
    nowhere = Context(groups=(frozenset(),), absence_searches={"github": 2, "hub": 1})
    enough = judge(search("title"), search("method"), value=False, context=nowhere)
    assert (enough.value, enough.verification) == (False, Verification.SEARCHED_NOT_FOUND)
    for too_few in (
        [search("title")],
        [search("title"), search("title")],
        [search("title"), search("m", complete=False)],
    ):
        assert judge(*too_few, value=False, context=nowhere).status is Status.UNVERIFIED


def test_absence_is_not_proven_while_a_link_of_the_paper_is_undetermined():
    waiting = replace(CODE, groups=(frozenset(),), unresolved_links=("url:https://lab.example/code",))
    found = judge(search("title"), search("method"), value=False, context=waiting)
    assert (found.status, found.verification) == (Status.UNVERIFIED, Verification.TOOL_FAILED)


def test_a_readme_without_code_is_not_code_even_though_the_repository_answers():
    empty = receipt(code_files=0, readme_only=True)
    assert judge(empty).status is Status.UNVERIFIED
    found = judge(empty, search("title"), search("method"), value=True)
    assert (found.value, found.status) == (False, Status.CONTRADICTED)


def test_evaluation_scripts_do_not_run_an_experiment_that_trains():
    only_eval = receipt(code_files=3, eval_entries=["eval.py"], eval_only=True)
    assert judge(only_eval, search("a"), search("b")).value is False
    assert judge(only_eval, context=replace(CODE, training_needed=False)).value is True


def test_a_wrapper_around_a_private_submodule_is_not_code():
    hollow = receipt(code_files=1, submodules=[{"path": "core", "url": "u", "reached": False}])
    assert judge(hollow, search("a"), search("b")).value is False
    whole = receipt(code_files=1, submodules=[{"path": "core", "url": "u", "reached": True}])
    assert judge(whole).value is True


def test_undetermined_never_becomes_true_or_false():
    found = judge(receipt(outcome=Outcome.UNDETERMINED), search("title"), search("method"), value=False)
    assert (found.value, found.verification) == (None, Verification.TOOL_FAILED)


def test_without_any_receipt_only_the_papers_text_speaks():
    found = judge(value=True)
    assert (found.value, found.verification) == (None, Verification.PAPER_TEXT_ONLY)


def test_what_the_bundle_shows_not_to_be_needed_is_not_applicable():
    found = judge(value=False, signal=Signal.WEIGHTS, context=replace(CODE, not_needed="training-free"))
    assert (found.value, found.verification, found.status) == (False, Verification.NOT_APPLICABLE, Status.CONFIRMED)
    assert not found.applicable


def test_receipts_that_entail_the_opposite_stand_and_the_models_word_is_kept():
    found = judge(GOOD, value=False)
    assert (found.value, found.status, found.model_value) == (True, Status.CONTRADICTED, False)


def test_a_receipt_made_with_credentials_proves_no_public_access():
    assert judge(receipt(code_files=4, authenticated=True)).value is not True


def test_weights_need_bytes_that_a_stranger_got_and_an_adapter_is_not_enough():
    def weights(**facts):
        return judge(receipt(tool="hub_repo", **facts), signal=Signal.WEIGHTS).value

    assert weights(weights_open=True) is True
    assert weights(weights_open=False) is not True
    assert weights(weights_open=True, adapter_only=True) is not True
    assert weights(weights_open=True, adapter_only=True, base_open=True) is True


@pytest.mark.parametrize("fact", ["moved_elsewhere", "authenticated"])
@pytest.mark.parametrize("adapter", [{}, {"adapter_only": True, "base_open": True}])
def test_neither_weights_nor_adapters_suffice_that_moved_to_another_owner_or_took_credentials(fact, adapter):
    found = receipt(tool="hub_repo", weights_open=True, **adapter)
    assert judge(found, signal=Signal.WEIGHTS).value is True
    assert (
        judge(receipt(tool="hub_repo", weights_open=True, **adapter, **{fact: True}), signal=Signal.WEIGHTS).value
        is None
    )


def test_one_gated_data_set_of_two_makes_the_data_unavailable():
    two = Context(groups=(frozenset({"hf:dataset:a/a"}), frozenset({"hf:dataset:b/b"})))
    open_, gated = receipt("hf:dataset:a/a", data_open=True), receipt("hf:dataset:b/b", Outcome.GATED)
    assert judge(open_, gated, signal=Signal.DATA, context=two).value is False
    both = judge(open_, receipt("hf:dataset:b/b", data_open=True), signal=Signal.DATA, context=two)
    assert both.value is True
    assert len(both.receipts) == 2


def test_a_listed_benchmark_behind_a_gate_is_standard_and_not_available():
    home = "url:https://image-net.org"
    gated = Context(groups=(frozenset({home}),), gated_homes=frozenset({home}), standard_names=("ImageNet",))
    page = receipt(home, tool="fetch_url")
    assert judge(page, signal=Signal.DATA, context=gated, value=False).value is False
    assert judge(page, signal=Signal.STANDARD, context=gated).value is True


def test_a_custom_split_of_a_listed_benchmark_is_not_standard():
    home = "url:https://example.org/cifar"
    custom = Context(groups=(frozenset({home}),), standard_names=("CIFAR-10",), custom_data=True)
    assert judge(receipt(home), signal=Signal.STANDARD, context=custom).value is False


def test_citing_receipts_that_do_not_exist_is_never_confirmed():
    assert judge(GOOD, cited=["f" * 64]).status is Status.CONTRADICTED
    assert judge(search("a"), search("b"), cited=["f" * 64]).status is not Status.CONFIRMED


def test_a_receipt_of_another_repository_proves_nothing_about_ours():
    other = receipt(FOREIGN, code_files=9, train_entries=["train.py"])
    assert judge(other, cited=[other.id]).status is Status.UNVERIFIED


def test_a_failed_receipt_confirms_nothing():
    failed = receipt(outcome=Outcome.UNDETERMINED, code_files=4)
    assert judge(failed, cited=[failed.id]).status is Status.UNVERIFIED


def test_a_place_seen_in_part_proves_no_absence():
    half = receipt(code_files=0, unseen=["tree"])
    assert judge(half, search("a"), search("b"), value=False).value is None
    listed_only = receipt(code_files=3, unseen=["releases"])
    assert judge(listed_only, search("m", tool="hub_search"), signal=Signal.WEIGHTS, value=False).value is None


ABSENT = replace(CODE, groups=(frozenset(),), words=frozenset({"foxtrot", "dancing"}), method="foxtrot")


def test_the_same_search_in_other_spelling_counts_once():
    assert judge(search("foxtrot"), search(" Foxtrot "), value=False, context=ABSENT).value is None
    assert judge(search("foxtrot"), search("dancing nets"), value=False, context=ABSENT).value is False


def test_searches_for_something_else_prove_no_absence():
    assert judge(search("qqq"), search("zzz"), value=False, context=ABSENT).value is None


def test_a_search_result_that_carries_the_methods_name_must_have_been_looked_at():
    hit = receipt(
        "search:github", tool="github_search_repositories", complete=True, query="foxtrot", results=["lab/foxtrot"]
    )
    assert judge(hit, search("dancing"), value=False, context=ABSENT).value is None
    looked = receipt("github:lab/foxtrot", code_files=0, readme_only=True)
    assert judge(hit, search("dancing"), looked, value=False, context=ABSENT).value is False


def test_one_file_that_was_read_does_not_stand_for_the_repository():
    one = receipt(tool="github_file", text=True)
    assert judge(one, search("a"), search("b"), value=False).status is Status.UNVERIFIED


def test_one_page_that_is_shut_does_not_speak_for_a_repository_that_answers():
    page, repo = "url:https://lab.example/method", receipt(code_files=0, readme_only=True)
    both = replace(CODE, groups=(frozenset({REPO, page}),))
    shut = receipt(page, Outcome.GATED, tool="fetch_url")
    assert judge(shut, repo, value=False, context=both).value is None
    found = judge(shut, repo, search("a"), search("b"), value=False, context=both)
    assert (found.value, found.verification) == (False, Verification.SEARCHED_NOT_FOUND)
    assert judge(receipt(outcome=Outcome.GATED), value=False, context=CODE).value is False


def test_a_checkpoint_of_another_size_is_not_this_one():
    seven = replace(CODE, sizes=("7b",))

    def weights(*words: str):
        found = receipt(tool="hub_repo", weights_open=True, scope_words=list(words))
        return judge(found, signal=Signal.WEIGHTS, context=seven).value

    assert weights("7b") is True
    assert weights() is True
    assert weights("1.3b", "130m") is not True


def test_a_second_look_settles_what_the_first_left_open():
    first = receipt(outcome=Outcome.UNDETERMINED)
    second = receipt(outcome=Outcome.UNAVAILABLE)
    assert judge(first, second, value=False).value is False


facts = st.fixed_dictionaries(
    {},
    optional={
        "code_files": st.integers(0, 3),
        "train_entries": st.lists(st.just("train.py"), max_size=1),
        "eval_only": st.booleans(),
        "weights_open": st.booleans(),
        "data_open": st.booleans(),
        "adapter_only": st.booleans(),
        "authenticated": st.booleans(),
        "complete": st.booleans(),
    },
)
any_receipt = st.builds(
    lambda s, o, t, f: receipt(s, o, t, **f),
    st.sampled_from([REPO, FOREIGN, "search:github", "search:hub"]),
    st.sampled_from(list(Outcome)),
    st.sampled_from(["github_repo", "github_tree", "hub_search", "github_search_repositories", "fetch_url"]),
    facts,
)


@given(st.lists(any_receipt, max_size=6), st.sampled_from(list(Signal)), st.booleans(), st.booleans())
def test_the_models_word_never_sets_a_value(receipts, signal, word, linked):
    context = replace(CODE, unresolved_links=("url:https://x.example",) if linked else ())
    yes, no = (judge(*receipts, value=v, signal=signal, context=context) for v in (True, False))
    assert (yes.value, yes.verification, yes.receipts) == (no.value, no.verification, no.receipts)
    assert (yes.value is None) == (yes.status is Status.UNVERIFIED)


@given(st.lists(any_receipt, max_size=6), st.sampled_from([Signal.CODE, Signal.WEIGHTS, Signal.DATA]))
def test_true_always_rests_on_an_available_receipt_about_the_artifact(receipts, signal):
    found = judge(*receipts, signal=signal)
    by_id = {r.id: r for r in receipts}
    if found.value is True:
        assert found.receipts
        assert all(by_id[i].outcome is Outcome.AVAILABLE and by_id[i].subject == REPO for i in found.receipts)


@given(st.lists(any_receipt, min_size=1, max_size=6))
def test_only_undetermined_receipts_never_settle_a_signal(receipts):
    silent = [replace(r, outcome=Outcome.UNDETERMINED) for r in receipts]
    assert judge(*silent).value is None
