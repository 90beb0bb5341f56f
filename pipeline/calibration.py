"""Eight made rows with known answers, which everybody answers before their first real row: to learn the guide's edges,
and to say how near a person is to it. Nothing here is a decision about a paper."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict

from pipeline.editions import data
from pipeline.events import Question
from pipeline.evidence import Json, canonical
from pipeline.record import stamp


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Question
    answer: Json
    why: str


class Exercise(BaseModel):
    """A made row: what its paper says, what probes of its places showed, and the questions with their answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    paper: str
    evidence: list[str]
    ask: list[Asked]


class Example(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    easy: str
    hard: str


@cache
def exercises() -> tuple[Exercise, ...]:
    text = data("reference", "calibration.toml").read_text(encoding="utf-8")
    return tuple(Exercise.model_validate(row) for row in tomllib.loads(text)["row"])


@cache
def examples() -> Mapping[str, Example]:
    """An easy and a hard case of each question, shown beside the labelling guide."""
    text = data("reference", "calibration.toml").read_text(encoding="utf-8")
    return {name: Example.model_validate(one) for name, one in tomllib.loads(text)["example"].items()}


metadata = sa.MetaData()
table = sa.Table(
    "audit_calibration",
    metadata,
    sa.Column("who", sa.String(100), primary_key=True),
    sa.Column("exercise", sa.String(64), primary_key=True),
    sa.Column("question", sa.String(32), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("right", sa.Boolean, nullable=False),
    sa.Column("at", sa.String(32), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Answered:
    who: str
    exercise: str
    question: str
    value: Json
    right: bool


def accuracy(answers: Iterable[Answered]) -> dict[str, tuple[int, int]]:
    """By person: how many of their first answers to the made rows are the known ones, and how many they gave."""
    found: dict[str, tuple[int, int]] = {}
    for one in answers:
        right, given = found.get(one.who, (0, 0))
        found[one.who] = (right + one.right, given + 1)
    return dict(sorted(found.items()))


class Calibrations:
    """First answers to the exercises; a later answer changes nothing."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        try:
            metadata.create_all(engine)
        except sa.exc.DBAPIError:  # another process made it between our look and our CREATE
            metadata.create_all(engine)

    def answers(self, who: str | None = None) -> list[Answered]:
        query = sa.select(table).order_by(table.c.who, table.c.exercise, table.c.question)
        if who is not None:
            query = query.where(table.c.who == who)
        with self.engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [
            Answered(r["who"], r["exercise"], r["question"], json.loads(r["value"]), bool(r["right"])) for r in rows
        ]

    def answer(self, who: str, exercise: Exercise, question: str, value: Json, at: datetime) -> None:
        right = next(one.answer == value for one in exercise.ask if one.question == question)
        row = {
            "who": who,
            "exercise": exercise.id,
            "question": question,
            "value": canonical(value),
            "right": right,
            "at": stamp(at),
        }
        try:
            with self.engine.begin() as connection:
                connection.execute(sa.insert(table).values(row))
        except sa.exc.IntegrityError:
            return  # answered in another tab

    def next(self, who: str) -> tuple[Exercise, Asked] | None:
        """The first question a person has not answered, or None when they are through."""
        done = {(a.exercise, a.question) for a in self.answers(who)}
        open_ = ((row, one) for row in exercises() for one in row.ask if (row.id, one.question) not in done)
        return next(open_, None)
