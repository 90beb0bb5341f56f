"""Values and bytes spoiled by a list of edits: what Hypothesis draws, shrinks and prints."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", " ", "\x00", "\ud800", "a\u2028b", "\u202e", "1e999", "NaN", "-0", "٣", "0" * 5000, "../x"]),
)
leaves_ = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**400, 0.0, -0.0, 0.1, 1e308, 5e-324]),
    texts,
)
odd = st.recursive(leaves_, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
"""Any JSON value, unlikely ones first."""

Place = tuple[Any, ...]
Edit = tuple[int, str, Any]
KINDS = ("put", "put", "drop", "twin", "borrow", "nudge")
edits = st.lists(st.tuples(st.integers(0, 2**16), st.sampled_from(KINDS), odd), min_size=1, max_size=3)


def places(value: Any, at: Place = ()) -> list[Place]:
    """Of all values inside a JSON value, whole lists and objects among them."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in inside for place in ((*at, key), *places(one, (*at, key)))]


def edited(value: Any, given: Sequence[Edit]) -> Any:
    """A copy with one value after another put, dropped, doubled, taken from elsewhere in it, or moved a little."""
    value = copy.deepcopy(value)
    for number, kind, other in given:
        there = places(value)
        if not there:
            return other
        place = there[number % len(there)]
        inside = _at(value, place[:-1])
        if kind == "drop":
            del inside[place[-1]]
        elif kind == "twin" and isinstance(inside, list):
            inside.insert(place[-1], copy.deepcopy(inside[place[-1]]))
        elif kind == "borrow":
            inside[place[-1]] = copy.deepcopy(_at(value, there[(number * 31 + 7) % len(there)]))
        elif kind == "nudge":
            inside[place[-1]] = nudged(inside[place[-1]])
        else:
            inside[place[-1]] = copy.deepcopy(other)  # the same value put twice would hold itself
    return value


def nudged(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return value[1:]
    return {**value, "more": 1} if isinstance(value, dict) else "x"


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


Cut = tuple[int, int, bytes]
cuts = st.lists(
    st.tuples(st.integers(0, 2**16), st.sampled_from([0, 0, 1, 3, 40, 400, 2**16]), st.binary(max_size=12)), max_size=4
)


def cut(data: bytes, given: Sequence[Cut]) -> bytes:
    """Some bytes taken out, others put in their place; a whole rest taken out is a body that was cut."""
    for at, length, instead in given:
        start = at % (len(data) + 1)
        data = data[:start] + instead + data[start + length :]
    return data
