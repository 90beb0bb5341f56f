"""What a LaTeX source says: text, links, tables, inventory, compute mentions."""

from pipeline.paper.devices import devices_in
from pipeline.paper.model import (
    Anchor,
    Cell,
    ComputeMention,
    Direction,
    Figure,
    InventoryItem,
    Link,
    NoPaper,
    Place,
    Section,
    Sentence,
    Table,
)
from pipeline.paper.numbers import Number, find_numbers, parse_number
from pipeline.paper.paper import Paper
from pipeline.paper.reader import read

__all__ = [
    "Anchor",
    "Cell",
    "ComputeMention",
    "Direction",
    "Figure",
    "InventoryItem",
    "Link",
    "NoPaper",
    "Number",
    "Paper",
    "Place",
    "Section",
    "Sentence",
    "Table",
    "devices_in",
    "find_numbers",
    "parse_number",
    "read",
]
