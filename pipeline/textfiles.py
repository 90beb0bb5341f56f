"""Which files are text, told from their bytes: file names lie, and supplements hold code under every ending."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]")
_BINARY_MAGIC = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x7fELF", b"\x80\x02", b"\x80\x03", b"\x80\x04")
_TEX = re.compile(
    r"^[^%\n]{0,400}\\(?:document(?:class|style)|begin\s*\{|input\b|section\b|title\b|usepackage|magnification|bye\b|def\\)",
    re.MULTILINE,
)
_SAMPLE = 1 << 16


def sniff_text(data: bytes) -> str | None:
    """The text in `data`, or None where it is not text.

    UTF-8, UTF-16 and UTF-32 with a mark, and as a last resort Windows-1252. Files with NULs, with more than one control
    character in a hundred, or with a known binary beginning are not text.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                break
    sample = data[:_SAMPLE]
    if data.startswith(_BINARY_MAGIC) or b"\0" in data or len(_CONTROL.findall(sample)) * 100 > len(sample):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if len(_HIGH.findall(sample)) * 10 > len(sample) * 3:
            return None
        return data.decode("cp1252", errors="replace")


def looks_like_tex(text: str) -> bool:
    """Whether a line outside comments holds a command that only TeX sources begin with."""
    return _TEX.search(text) is not None


def readable(path: str, data: bytes) -> str | None:
    """A file as a reader wants it: notebooks as their cells, other text as it is; None for what is not text."""
    text = sniff_text(data)
    if text is not None and path.lower().endswith(".ipynb"):
        return notebook_cells(text) or text
    return text


def notebook_cells(text: str) -> str | None:
    """The cells of a Jupyter notebook (nbformat 3 and 4) in order, with their text outputs; None if it is no notebook.

    Images and widgets in outputs, which make up most of a notebook's bytes, are left out.
    """
    try:
        notebook: Any = json.loads(text)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        parts = [_cell(number, cell) for number, cell in enumerate(cells, 1)]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None
    return "\n\n".join(parts)


def _cell(number: int, cell: Any) -> str:
    body = _joined(cell.get("source", cell.get("input", "")))
    said = [_joined(output.get("text", "")) for output in cell.get("outputs", ())]
    said += [_joined(output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", ())]
    shown = "\n".join(part for part in said if part)
    lines = [f"[{number} {cell.get('cell_type', 'cell')}]", body]
    return "\n".join([*lines, "[output]", shown] if shown else lines)


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)
