"""Names that the eye takes for one another: what a stranger calls an account that shall pass for somebody's."""

from __future__ import annotations

import unicodedata

_SHAPES = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "-": "", "_": "", ".": ""})
_SCRIPTS = str.maketrans(dict(zip("аеорсхуіѕјԁһοανρ", "aeopcxyisjdhoavp", strict=True)))
LETTERS = 6
"""From so many letters on, one letter more, less, changed or moved makes no other name."""


def alike(a: str, b: str) -> bool:
    """Whether two names can be taken for one another: of one shape, or one letter apart. A name is like itself."""
    one, two = _skeleton(a), _skeleton(b)
    if one == two or min(len(one), len(two)) < LETTERS:
        return one == two
    at = next((i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y), min(len(one), len(two)))
    left, right = one[at:], two[at:]
    moved = left[:2] == right[1::-1] and left[2:] == right[2:]
    return moved or left[1:] in (right[1:], right) or right[1:] == left


def _skeleton(name: str) -> str:
    """A name as the eye reads it: letters of one shape, in any script, as one; no hyphens."""
    plain = unicodedata.normalize("NFKD", name.casefold()).translate(_SCRIPTS).translate(_SHAPES)
    return plain.replace("rn", "m").replace("vv", "w")
