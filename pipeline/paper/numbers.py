"""Numbers as papers print them: 11,264x, 63.2 ± 0.4, 1.2e-3, 10^{-3}, .896, 0.123(4), 5.0%."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_NUMBER_TEXT = 400  # a cell longer than this is prose


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    uncertainty: float | None = None
    percent: bool = False
    factor_x: bool = False
    text: str = ""
    unit: str = ""
    start: int = 0


_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_SIGN = r"(?:[-+−–]\s?)?"
_EXP = r"(?:\s?[eE][-+−]?\d{1,3}|\s?(?:×|\\times|\\cdot|·|x|\*)\s?10\s?\^\s?[({]?\s?[-−+]?\s?\d{1,3}\s?[)}]?)"
_POW = r"10\s?\^\s?[({]?\s?[-−+]?\s?\d{1,3}\s?[)}]?"
_PM = r"(?:±|\+/-|\+-|\\pm)"
_NUMBER = re.compile(
    rf"(?P<value>{_SIGN}(?:{_POW}(?!\d)|{_PLAIN}{_EXP}?))"
    rf"(?:(?P<paren>\((?P<u1>\d{{1,3}})\))|\s?(?P<pct1>%)?\s?{_PM}\s?(?P<u2>{_PLAIN}{_EXP}?)"
    rf"|\s?[\[(]\s?{_PM}?\s?(?P<u3>{_PLAIN})\s?%?\s?[\])](?!\s?[\w]))?"
    r"\s?(?P<unit>%|[x×](?![A-Za-z0-9])|[kKMBGT](?![A-Za-z])|ms\b|s\b|sec\b|min\b|h\b|GB\b|MB\b|dB\b|hours?\b|minutes?\b)?"
)
# behind a number: an interval around it, or an uncertainty raised, lowered or in both places
_INTERVAL = re.compile(
    rf"[\[(]?\s?(?:9\d(?:\.\d)?\s?%\s?)?(?:CI)?[:,]?\s?[\[(]?\s?(?P<low>{_SIGN}{_PLAIN}{_EXP}?)\s?%?\s?(?:,|;|–|—|-|to|\.\.)\s?"
    rf"(?P<high>{_SIGN}{_PLAIN}{_EXP}?)\s?%?\s?[\])]*"
)
_RAISED = re.compile(rf"[_^]\s?\(?{_PM}\s?(?P<u>{_PLAIN})\)?\s?%?")
_BOTH = re.compile(rf"[_^]\s?[+−–-]\s?(?P<a>{_PLAIN})\s?[_^]\s?[+−–-]\s?(?P<b>{_PLAIN})")
_DECOR = re.compile(
    r"\\(?:textbf|mathbf|textit|underline|uline|bm|boldsymbol|mathrm|text|emph|hspace|num|texttt|small|tiny|bfseries|bf"
    r"|footnotesize|scriptsize|pmb|ul|mathit|mathsf|boldmath|displaystyle|SI|qty|ensuremath)\b\*?"
)
_DROP = re.compile(r"\\(?:h?phantom|vphantom|cellcolor|rowcolor|hspace|color|vspace)\*?(?:\[[^\]]*\])?\s*")
_COLOUR = re.compile(r"\\(?:textcolor|colorbox)(?:\[[^\]]*\])?\{[^{}]*\}")
# most cells are just that: a number, perhaps with a spread or a per cent sign
_BARE = re.compile(r"(?P<value>[-+−]?(?:\d+(?:\.\d+)?|\.\d+))(?: ?± ?(?P<spread>\d+(?:\.\d+)?|\.\d+))?(?P<unit>%?)")
_REST = re.compile(r"\(?[↑↓+\-−±]?\s?[\d.,]+\s?[%x×↑↓]?\)?\s?[↑↓]?|[/(]\s?[-+−]?[\d.]+%?\)?")
_SECOND = re.compile(r"[-–]\s?\d")
_POWER = re.compile(r"(?:(.+?)(?:×|\\times|\\cdot|·|x|\*))?10\^[({]?([-+]?\d+)[)}]?")
_DIGIT = re.compile(r"\d")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}


def _drop_arguments(text: str) -> str:
    """Remove commands that print nothing, with their (possibly nested) argument."""
    while found := _DROP.search(text):
        i, depth = found.end(), 0
        while i < len(text):
            depth += (text[i] == "{") - (text[i] == "}")
            i += 1
            if depth <= 0:
                break
        text = text[: found.start()] + text[i:]
    return text


def _plain(text: str) -> str:
    """TeX around a number undone; text that is already plain passes unchanged."""
    if "\\" in text:
        text = _COLOUR.sub("", _drop_arguments(text))
        text = _DECOR.sub("", text).replace("\\pm", "±").replace("\\times", "×").replace("\\%", "%")
        text = text.replace("\\cdot", "·").replace("\\,", "").replace("\\;", "").replace("\\!", "")
        text = text.replace("\\percent", "%")
    if "{" in text or "$" in text or "~" in text:
        text = text.replace("{,}", ",").replace("$", "").replace("~", " ")
        text = re.sub(r"[{}]", "", text)
    return text.replace("\u2009", "").replace("\u00a0", " ").replace("\u202f", "")


def _float(text: str) -> float | None:
    text = text.replace(",", "").replace("−", "-").replace("–", "-").replace(" ", "").lstrip("+")
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("-")
    try:
        if power := _POWER.fullmatch(text) if "^" in text else None:
            return sign * float(f"{power[1] or 1}e{power[2]}")
        return sign * float(text)
    except (ValueError, OverflowError):
        return None


def _number(found: re.Match[str]) -> Number | None:
    value = _float(found["value"])
    if value is None or value in (float("inf"), float("-inf")):
        return None
    uncertainty = None
    if found["u1"]:  # 0.123(4): the last digits; 96 (3): as printed
        decimals = len(found["value"].split(".")[1]) if "." in found["value"] else 0
        uncertainty = float(f"{found['u1']}e-{decimals}") if decimals >= len(found["u1"]) else float(found["u1"])
    elif found["u2"] or found["u3"]:
        uncertainty = _float(found["u2"] or found["u3"])
    unit = "%" if found["pct1"] else (found["unit"] or "")
    if unit == "×":
        unit = "x"
    return Number(value, uncertainty, unit == "%", unit == "x", found[0].strip(), unit, found.start())


def parse_number(text: str) -> Number | None:
    """The one number a cell or phrase is: None when it is prose, holds two numbers, or none.

    Arrows, asterisks, daggers, footnote marks, <, >, ~ and ≈ around the number are ignored. `k`, `M`, `B` stay units;
    the value is as printed.
    """
    if len(text) > MAX_NUMBER_TEXT or not _DIGIT.search(text):
        return None
    bare = _BARE.fullmatch(text) if len(text) < 24 else None
    if bare:
        value, spread, unit = bare.groups()
        return Number(
            float(value.replace("−", "-")), float(spread) if spread else None, unit == "%", False, text, unit, 0
        )
    plain = _plain(text).strip()
    plain = plain.strip(" \t*†‡§¶↑↓▲▼△▽⇑⇓<>≤≥~∼≈≃=()[]|✓⋆★_\\;:'\"")
    if plain.count("(") > plain.count(")"):
        plain += ")"
    if not plain:
        return None
    found = _NUMBER.match(plain)
    if found is None:
        # a letter or currency sign before the number: $0.12, @5 are prose, but US dollars print a price
        return None
    spread = _spread(found, plain[found.end() :].strip())
    if spread is not None:
        number = _number(found)
        return number and replace(number, uncertainty=spread)
    rest = plain[found.end() :].strip(" \t*†‡§¶↑↓▲▼△▽⇑⇓()[]^_{},;'⋆★abc")
    if rest and not _REST.fullmatch(rest):
        return None
    if rest.startswith("/") or _SECOND.match(rest):
        return None  # a fraction, a range, a date: not one number
    return _number(found)


def _spread(found: re.Match[str], rest: str) -> float | None:
    """Half the width of what is printed around a number; None when nothing of the kind follows it."""
    if not rest or found["u1"] or found["u2"] or found["u3"]:
        return None
    raised = _RAISED.fullmatch(rest)
    if raised:
        return _float(raised["u"])
    both = _BOTH.fullmatch(rest)
    if both:
        a, b = _float(both["a"]), _float(both["b"])
        return None if a is None or b is None else (a + b) / 2
    interval = _INTERVAL.fullmatch(rest) if rest[0] in "([" else None
    if not interval:
        return None
    value, low, high = _float(found["value"]), _float(interval["low"]), _float(interval["high"])
    if value is None or low is None or high is None or not low <= value <= high:
        return None
    return round((high - low) / 2, 12)


def find_numbers(text: str) -> tuple[Number, ...]:
    """All numbers in running text, left to right; digits inside words (SmolLM2, v1.5) are not numbers."""
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        at = match.start()
        lead = text[at - 1] if at else " "
        sign = match["value"][:1] in "-+−–"
        if lead.isalpha() or lead in "_." or (sign and (lead.isalnum())):
            if not (sign and lead.isdigit()):
                continue
            match2 = _NUMBER.match(text, at + 1)  # 20-30: the second end of a range is not negative
            if match2 is None:
                continue
            match = match2
        number = _number(match)
        if number is not None:
            found.append(number)
    return tuple(found)


def scaled(number: Number) -> float:
    """The value with its k, M, B, T suffix applied."""
    return number.value * _SCALES.get(number.unit, 1.0)
