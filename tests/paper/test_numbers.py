"""Numbers as papers print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.paper import find_numbers, parse_number


@pytest.mark.parametrize(
    ("text", "value", "uncertainty"),
    [
        ("11,264x", 11264, None),
        ("63.2 \\pm 0.4", 63.2, 0.4),
        ("63.2±0.4", 63.2, 0.4),
        ("1.2e-3", 0.0012, None),
        ("$\\phantom{0}5.0$", 5.0, None),
        ("\\phantom{\\q{0.0}}56.0", 56.0, None),
        ("10^{-3}", 0.001, None),
        ("1.2×10^-3", 0.0012, None),
        ("\\textcolor[rgb]{0.2,0.2,0.2}{0.645}", 0.645, None),
        (".896", 0.896, None),
        ("−3.5", -3.5, None),
        ("5.0%", 5.0, None),
        ("0.123(4)", 0.123, 0.004),
        ("96.5 (0.3)", 96.5, 0.3),
        ("<5", 5, None),
        ("81.3*", 81.3, None),
        ("42.1 ↑", 42.1, None),
        ("2{,}000", 2000, None),
    ],
)
def test_a_number_is_read_as_printed(text: str, value: float, uncertainty: float | None) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.value == pytest.approx(value)
    assert number.uncertainty == (None if uncertainty is None else pytest.approx(uncertainty))


@pytest.mark.parametrize("text", ["", "-", "N/A", "ResNet-50", "GPT-4", "3/4", "10–20", "ours", "✓", "12 of 40 papers"])
def test_what_is_no_single_number_is_none(text: str) -> None:
    assert parse_number(text) is None


@given(
    st.floats(min_value=0.001, max_value=99999).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["{}", "\\textbf{{{}}}", "${}$", "{}%", " {} "]),
)
def test_decorations_never_change_the_value(number: str, frame: str) -> None:
    parsed = parse_number(frame.format(number))
    assert parsed is not None
    assert parsed.value == float(number)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    parse_number(text)
    for number in find_numbers(text):
        assert 0 <= number.start < max(len(text), 1)


def test_numbers_in_a_sentence_leave_names_alone() -> None:
    assert [n.value for n in find_numbers("SmolLM2 with v1.5 gains 3.2% over 20-30 runs of 1,024")] == [
        3.2,
        20,
        30,
        1024,
    ]
