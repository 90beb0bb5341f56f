"""The steps of the guide, one at a time: claim, candidates, target, bar, needs, data, hours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifiers.embedded.hours import Hours, find_hours
from classifiers.embedded.prose import same_printed
from classifiers.embedded.reading import Reading, read_paper
from pipeline.defects import target_fault
from pipeline.paper import NoPaper, find_numbers, read
from tests.classifiers.toys import method_paper, paper_input

REAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "realworld" / "papers"


def reading(**parts: str) -> Reading:
    return read_paper(paper_input(method_paper(**parts)).paper)


def table(caption: str, rows: str, columns: str = "lcc", head: str = r"Method & Accuracy & F1 \\") -> str:
    grid = rf"\begin{{tabular}}{{{columns}}}{head}\hline {rows}\end{{tabular}}"
    return rf"\begin{{table}}\caption{{{caption}}}{grid}\end{{table}}"


def test_the_claim_is_the_first_measured_result_and_not_the_background() -> None:
    found = reading(
        abstract="Recent models reach 99.1\\% on easy data. We propose Gizmo, a memory. Gizmo reaches 95.41\\% test "
        "accuracy on CIFAR-10. It is also 2.3 times faster."
    )
    assert found.claim is not None
    assert found.claim.sentence == "Gizmo reaches 95.41% test accuracy on CIFAR-10."


def test_a_data_sets_size_is_not_its_claim() -> None:
    found = reading(
        abstract="We present Gizmo, the largest corpus, with 81,000 texts. Models trained on Gizmo outperform those "
        "trained on scraped text by 3.2 points."
    )
    assert found.claim is not None
    assert "outperform" in found.claim.sentence


def test_the_number_the_claim_prints_is_the_target_even_in_a_later_table() -> None:
    first = table("Accuracy (\\%) on toys.", r"Base & 80.1 & 79.0 \\ Gizmo & \textbf{83.2} & \textbf{82.2} \\")
    second = table("Accuracy (\\%) on CIFAR-10.", r"Base & 92.35 & 91.0 \\ Gizmo & \textbf{95.41} & \textbf{95.0} \\")
    found = reading(table=first + second)
    assert found.targets.chosen is not None
    assert (found.targets.chosen.table, found.targets.chosen.value) == ("2", "95.41")
    words = {word.item: word.reason for word in found.targets.inventory}
    assert words["table 2"] == "chosen"
    assert words["table 1"] in ("dearer", "other claim")


def test_a_part_taken_out_is_never_chosen_before_the_whole_method() -> None:
    rows = r"Gizmo w/o memory & 97.0 & 96.0 \\ Gizmo & 95.0 & 94.0 \\ Base & 90.0 & 89.0 \\"
    found = reading(
        table=table("Accuracy (\\%).", rows), abstract="We introduce Gizmo. Gizmo improves accuracy over Base."
    )
    assert found.targets.chosen is not None
    assert found.targets.chosen.row == 2


def test_methods_in_columns_are_read_like_methods_in_rows() -> None:
    turned = table("Accuracy (\\%).", r"CIFAR-10 & 91.0 & 95.41 \\ SVHN & 95.0 & 96.1 \\", head=r" & Base & Gizmo \\")
    found = reading(table=turned)
    assert found.targets.chosen is not None
    assert (found.targets.chosen.row, found.targets.chosen.column) == (1, 2)


def test_the_appendix_supports_only_what_the_body_does_not() -> None:
    extra = r"\appendix\section{More}" + table(
        "Accuracy (\\%) again.", r"Base & 90 & 89 \\ Gizmo & \textbf{96.0} & 95 \\"
    )
    source = method_paper().replace(r"\end{document}", extra + r"\end{document}")
    found = read_paper(paper_input(source).paper)
    words = [word.reason for word in found.targets.inventory]
    assert words == ["chosen", "appendix repeat"]


def test_a_claim_whose_number_no_cell_prints_is_a_target_in_its_sentence() -> None:
    found = reading(
        abstract="We introduce Gizmo. Gizmo keeps its accuracy above 80.0\\% on half of the budget.",
        table=table("Settings.", r"Base & 1 & 2 \\ Gizmo & 3 & 4 \\", head=r"Method & Layers & Heads \\"),
    )
    assert found.targets.chosen is not None
    assert found.targets.chosen.table is None
    assert found.targets.chosen.bar_kind == "threshold"
    assert "80.0%" in found.targets.chosen.quote


def test_a_difference_in_prose_is_a_magnitude() -> None:
    found = reading(
        abstract="We introduce Gizmo. Gizmo lowers latency by 33.5\\% on one device.",
        table=table("Settings.", r"Base & 1 & 2 \\ Gizmo & 3 & 4 \\", head=r"Method & Layers & Heads \\"),
    )
    assert found.targets.chosen is not None
    assert found.targets.chosen.bar_kind == "magnitude"


@pytest.mark.parametrize(
    ("prose", "value", "same"),
    [
        ("96.4% accuracy", 96.41, True),
        ("96.41% accuracy", 0.9641, True),
        ("96.5% accuracy", 96.41, False),
        ("a factor of 5", 5.0, False),
        ("11,264x fewer", 11264.0, True),
        ("0.54 of it", 0.538, True),
    ],
)
def test_prose_rounds_and_a_bare_digit_proves_nothing(prose: str, value: float, same: bool) -> None:
    assert same_printed(find_numbers(prose)[0], value) is same


@given(st.floats(min_value=10.0, max_value=99.99), st.integers(min_value=1, max_value=3))
@settings(max_examples=60, deadline=None)
def test_a_value_always_equals_its_own_rounding(value: float, decimals: int) -> None:
    printed = f"{value:.{decimals}f}%"
    assert same_printed(find_numbers(f"reaches {printed}")[0], value)


def hours(compute: str, *, trains: bool = True, extra: str = "") -> Hours:
    source = method_paper(body=f"{compute} {extra}").replace("Training Gizmo takes 3 hours on one NVIDIA A100 GPU.", "")
    paper = paper_input(source).paper
    return find_hours(paper, read_paper(paper).targets.chosen, trains=trains)


def test_two_times_in_one_sentence_are_two_parts() -> None:
    told = "Training takes 3 hours on one A100 (40GB); evaluating the checkpoint takes 6 minutes on the same card."
    train, evaluation = hours(told).parts
    assert (train.kind, train.wall_hours, train.device) == ("train", 3.0, "A100 40GB")
    assert (evaluation.kind, evaluation.device) == ("eval", "A100 40GB")
    assert evaluation.wall_hours == pytest.approx(0.1, abs=1e-4)
    (only,) = hours(told, trains=False).parts
    assert only.kind == "eval"


def test_the_clause_about_the_targets_model_is_taken() -> None:
    told = "A run of Gizmo takes 2 hours on one RTX 3090; a WideResNet run takes 21 hours on the same card."
    assert hours(told).parts[0].wall_hours == 2.0


def test_epochs_are_multiplied_and_never_typed_as_hours() -> None:
    part = hours("We train for 200 epochs at 3 minutes per epoch on one V100.").parts[0]
    assert part.wall_hours == pytest.approx(10.0)
    assert hours("We train for 200 epochs on one V100.").parts == ()


def test_seeds_multiply_a_run_and_not_a_total() -> None:
    seeds = "All numbers are means over 5 seeds."
    assert hours("One run takes 2 hours on one V100.", extra=seeds).parts[0].runs == 5
    assert hours("All runs together took 40 V100 GPU hours in total.", trains=False, extra=seeds).parts[0].runs == 1


def test_a_server_without_cards_is_cpu_work_and_not_zero() -> None:
    (part,) = hours(
        "All experiments ran on a CPU server with 64 cores; no GPU was used. Training takes three hours."
    ).parts
    assert part.cpu_only
    assert (part.device, part.wall_hours) == ("64-core CPU", 3.0)


def test_nothing_to_go_by_is_no_part_and_says_so() -> None:
    nothing = hours("We used our internal cluster.")
    assert nothing.parts == ()
    assert nothing.basis_kind == "compute_unspecified"


def test_totals_with_failed_runs_and_hours_of_speech_cost_nothing() -> None:
    assert hours("The project used 5000 A100 hours, including failed runs.").parts == ()
    assert hours("We train on the 960 hours of LibriSpeech.").parts == ()


def test_human_raters_are_needed_only_where_their_judgement_is_the_number() -> None:
    aside = reading(body="Besides, 20 participants of a user study liked Gizmo.")
    assert aside.needs.human_raters == ""
    claim = "In a listening test with 40 raters, Gizmo has a mean opinion score of 4.21."
    judged = reading(
        abstract=f"We introduce Gizmo. {claim}",
        table=table(
            "Mean opinion score.", r"Base & 3.9 & 1 \\ Gizmo & \textbf{4.21} & 2 \\", head=r"Method & MOS & N \\"
        ),
    )
    assert judged.needs.human_raters == claim


def test_a_baseline_behind_an_api_is_not_a_need_of_the_target() -> None:
    rows = r"GPT-4o & 96.0 & 95.0 \\ Gizmo & \textbf{95.41} & \textbf{95.0} \\"
    found = reading(table=table("Accuracy (\\%) on CIFAR-10.", rows), body="We compare with GPT-4o through its API.")
    assert found.needs.paid_api == ""


def test_made_data_is_shown_by_the_papers_own_sentence() -> None:
    source = method_paper(
        abstract="We introduce Gizmo. Gizmo reaches an error of 0.041.",
        table=table("Error.", r"Base & 0.9 & 1 \\ Gizmo & 0.041 & 2 \\", head=r"Method & Error & N \\"),
    ).replace(
        "CIFAR-10 is used with its standard split. ", "All inputs are drawn from a synthetic mixture of Gaussians. "
    )
    found = read_paper(paper_input(source).paper)
    assert found.data.datasets == ()
    assert "synthetic mixture" in found.data.made


def test_an_own_subset_of_a_benchmark_is_custom() -> None:
    source = method_paper().replace("CIFAR-10 is used with its standard split.", "We use a random subset of CIFAR-10.")
    (word,) = read_paper(paper_input(source).paper).data.datasets
    assert (word.name, word.custom) == ("CIFAR-10", True)


def test_a_mark_that_the_caption_explains_as_our_own_makes_a_line_own() -> None:
    rows = r"Alpha & 91.0 & 90.0 \\ Alpha$^\dagger$ & 93.0 & 92.0 \\ Beta & 95.0 & 94.0 \\"
    caption = "Accuracy (\\%). $^\\dagger$ Model fine-tuned on our data."
    found = reading(table=table(caption, rows), abstract="We collect texts. Models improve after training on our data.")
    assert found.targets.chosen is not None
    assert found.targets.chosen.row == 2


def test_of_own_models_that_fit_alike_the_smallest_is_taken() -> None:
    rows = r"Base-S & 90 & 89 \\ Gizmo-L & 95.5 & 94.5 \\ Gizmo-S & 93.5 & 92.5 \\"
    found = reading(
        table=table("Accuracy (\\%).", rows), abstract="We introduce Gizmo. Gizmo improves accuracy over Base."
    )
    assert found.targets.chosen is not None
    assert found.targets.chosen.row == 3


def test_a_claim_that_only_names_the_number_to_beat_is_a_direction() -> None:
    claim = "Gizmo has a higher final score than counting, whose score is 4,120."
    found = reading(
        abstract=f"We introduce Gizmo. {claim}",
        table=table(
            "Final score of the baselines.", r"Random & 12 & 1 \\ Counting & 4120 & 3 \\", head=r"& Score & N \\"
        ),
    )
    chosen = found.targets.chosen
    assert chosen is not None
    assert (chosen.value, chosen.bar_kind, chosen.baseline) == ("4120", "direction", 4120.0)


def test_a_choice_is_no_result_and_a_hope_neither() -> None:
    found = reading(
        abstract="We present Gizmo. A model finds the image that best corresponds with each label. Gizmo is expected "
        "to improve later work. Gizmo raises accuracy by 3.1\\%."
    )
    assert found.claim is not None
    assert found.claim.sentence == "Gizmo raises accuracy by 3.1%."


def test_a_finding_in_running_text_is_a_target_where_no_table_prints_one() -> None:
    found = reading(
        abstract="We introduce Gizmo. We show that tails of rewards are light.",
        table=table("Settings.", r"A & x & y \\ B & z & w \\", head=r"Name & Layers & Heads \\"),
        body="The tail index appears to be 0.27 for random inputs.",
    )
    assert found.targets.chosen is not None
    assert found.targets.chosen.value == "0.27"
    assert found.targets.chosen.table is None


def test_why_is_said_in_words_and_not_in_points() -> None:
    why = reading().targets.chosen
    assert why is not None
    assert "the claim prints this number" in why.why
    assert not re.search(r"[+-]\d", why.why)


@pytest.mark.parametrize(
    "sentence",
    [
        "From CIFAR-10 we extracted a cohort of our own and report on it.",
        "We use CIFAR-10 and split it at random by class.",
        "We use CIFAR-10 with our own split.",
    ],
)
def test_an_own_cohort_or_split_of_a_benchmark_is_custom(sentence: str) -> None:
    source = method_paper().replace("CIFAR-10 is used with its standard split.", sentence)
    (word,) = read_paper(paper_input(source).paper).data.datasets
    assert (word.name, word.custom) == ("CIFAR-10", True)


def test_tasks_parts_of_models_and_headings_are_no_data_sets() -> None:
    rows = r"Base & 0.9 & 1 \\ Gizmo & 0.041 & 2 \\"
    caption = "Savings on MHA V-O and NER for the RMSNorm layer."
    found = read_paper(
        paper_input(
            method_paper(
                abstract="We introduce Gizmo. Gizmo reaches an error of 0.041.",
                table=table(caption, rows, head=r"Method & Error & N \\"),
            ).replace("CIFAR-10 is used with its standard split. ", "We study the RMSNorm layer. ")
        ).paper
    )
    assert found.data.datasets == ()


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("Tuning took 3 hours on 8 H100.", "trained"),
        ("The final run took 260 A100 hours.", "trained"),
        ("All weights stay as they are; our method requires no training.", "none"),
    ],
)
def test_training_is_seen_in_other_words_too(told: str, kind: str) -> None:
    source = method_paper(body=told)
    for plain in ("We train a ResNet-18 for 200 epochs. ", "Training Gizmo takes 3 hours on one NVIDIA A100 GPU."):
        source = source.replace(plain, "")
    assert read_paper(paper_input(source).paper).trained.kind == kind


def test_a_total_over_all_seeds_is_not_multiplied_and_each_run_is() -> None:
    seeds = "All numbers are means over 5 seeds."
    total = hours("Evaluating all agents took 15 hours on one V100.", trains=False, extra=seeds)
    assert total.parts[0].runs == 1
    each = hours("Each of the five runs takes 2 hours on one V100.", extra=seeds)
    assert each.parts[0].runs == 5


def test_a_time_per_room_is_taken_for_all_rooms_where_the_paper_says_so() -> None:
    whole = hours("Training took 4 hours per room on one V100, 32 hours for the whole set.")
    assert whole.parts[0].wall_hours == 32.0


def test_preparing_data_is_no_part_of_a_rerun() -> None:
    assert hours("Preprocessing and sampling of the data took 4 hours on one V100.", trains=False).parts == ()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="real papers lie beside the checkout only")
def test_on_real_papers_every_target_stands_where_it_says_and_every_float_has_a_word() -> None:
    looked = 0
    for folder in sorted(REAL.iterdir()):
        files = {str(p.relative_to(folder / "src")): p.read_bytes() for p in (folder / "src").rglob("*") if p.is_file()}
        try:
            paper = read(files)
        except NoPaper:
            continue
        found = read_paper(paper)
        looked += 1
        for target in filter(None, (found.targets.chosen, *found.targets.alternatives)):
            assert target_fault(target, paper) == "", folder.name
        assert {w.item for w in found.targets.inventory} == {f"{i.kind} {i.number}" for i in paper.inventory}
        assert found.claim is not None
        assert paper.find(found.claim.sentence) is not None, folder.name
    assert looked >= 20
