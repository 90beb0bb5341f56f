"""A name that only looks like another is not the other's."""

from __future__ import annotations

import pytest

from pipeline.lookalikes import alike


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("quill-1ab", "quill-lab"),
        ("qui11-lab", "quill-lab"),
        ("quill_lab", "quill-lab"),
        ("quill-lаb", "quill-lab"),
        ("quil-lab", "quill-lab"),
        ("quilll-lab", "quill-lab"),
        ("qulil-lab", "quill-lab"),
        ("quill-lob", "quill-lab"),
        ("rnodern-nets", "modern-nets"),
        ("G00gle-research", "google-research"),
    ],
)
def test_names_of_one_shape_or_one_letter_apart_look_alike(name: str, other: str) -> None:
    assert alike(name, other)
    assert alike(other, name)


@pytest.mark.parametrize(("name", "other"), [("quill-lab", "ink-lab"), ("mila", "mlia2"), ("abc", "abd"), ("", "x")])
def test_other_names_do_not(name: str, other: str) -> None:
    assert not alike(name, other)
