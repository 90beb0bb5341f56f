"""One edition's settings: read from a TOML file, checked as a whole, frozen and hashed before the first episode.

Every number that shapes a release (caps, bands, sizes, seeds, tolerances) is a field here and nowhere else. A stage's
fingerprint depends on ``part(stage)``, so a variant with another cap shares corpus, bundles and episodes with its base.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from pipeline.evidence import digest
from pipeline.settings import AbsenceSearches, Classifier, Corpus, LanguageModel, Live, Settings
from pipeline.tiers import SELECTABLE, Scoring, Tier

__all__ = [
    "AbsenceSearches",
    "Classifier",
    "Corpus",
    "Edition",
    "EditionError",
    "LanguageModel",
    "Live",
    "data",
    "load",
    "retold",
    "sample_order",
    "searching",
    "shipped",
]

# A new edition's ladder in H100-hours and its band weights; an edition with another cap cuts or names its own.
_LADDER = (8.0, 32.0, 96.0)
_WEIGHTS = (5, 7, 8)

_REPO = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}"

_READS: Mapping[str, tuple[str, ...]] = {
    "corpus": ("conference", "year", "venue", "as_of", "world", "live", "corpus"),
    "sample": ("seed", "sample", "until", "max_sample"),
    "bundles": ("as_of", "world", "second_look_hours"),
    "classification": ("as_of", "world", "absence_searches", "max_passes", "second_look_hours", "classifier"),
    "rows": ("scoring", "tolerance_relative", "compute_audit_tolerance", "band_edges_hours", "pool_cap_hours"),
    "selection": ("seed", "draw", "paid_api_policy", "band_edges_hours", "band_weights", "pool_cap_hours", "pool_size"),
    "audit": ("scoring", "tolerance_relative"),
    "splits": ("split_cap_hours", "eval_size", "dev_per_tier"),
    "release": (
        *("conference", "year", "venue", "seed", "draw", "scoring", "band_edges_hours", "band_weights"),
        *("pool_cap_hours", "split_cap_hours", "pool_size", "eval_size", "dev_per_tier", "paid_api_policy"),
        *("tolerance_relative", "compute_audit_tolerance", "max_receipt_age_days", "absence_searches", "as_of"),
        "repo",
    ),
    "drift": ("world", "max_passes", "second_look_hours"),
}


class EditionError(ValueError):
    """An edition that cannot be: the message names the file, the key, and what to do."""


class Edition(Settings):
    """One conference edition, or a variant of one. Hours are H100-hours; shares are fractions of one.

    `repo`: where its releases are published, ORG/NAME on the Hugging Face Hub; without it they are not. It is the
    file's own and never inherited: a repository holds the releases of one edition.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    extends: str | None = None
    conference: str
    year: Annotated[int, Field(ge=1950, le=2200)]
    venue: str
    as_of: date
    world: str | None = None
    live: Live | None = None
    corpus: Corpus = Corpus()
    repo: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None

    seed: Annotated[str, Field(min_length=1)]
    sample: PositiveInt | None = None
    until: dict[Tier, PositiveInt] | None = None
    max_sample: PositiveInt | None = None

    classifier: Classifier = Classifier()
    absence_searches: AbsenceSearches = AbsenceSearches()
    max_passes: Annotated[int, Field(gt=0, le=10)] = 2
    second_look_hours: Annotated[float, Field(ge=1, le=24 * 365)] = 24.0

    scoring: Scoring = "needs"
    tolerance_relative: Annotated[float, Field(gt=0, lt=1)] = 0.05
    compute_audit_tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.20

    split_cap_hours: PositiveFloat
    pool_cap_hours: PositiveFloat
    band_edges_hours: tuple[PositiveFloat, ...]
    band_weights: tuple[NonNegativeInt, ...]
    pool_size: PositiveInt
    eval_size: PositiveInt
    dev_per_tier: NonNegativeInt
    paid_api_policy: Literal["before_pool", "after_audit"] = "before_pool"
    draw: Literal["cheapest", "seeded"] = "cheapest"
    max_receipt_age_days: PositiveInt = 14

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)
    _folder: Path | None = PrivateAttr(default=None)
    _world_path: Path | None = PrivateAttr(default=None)

    @field_validator("repo")
    @classmethod
    def _on_the_hub(cls, repo: str | None) -> str | None:
        if repo is not None and not re.fullmatch(_REPO, repo):
            raise ValueError(f"{repo!r} is no ORG/NAME of a data set on the Hub")
        return repo

    @field_validator("until", mode="before")
    @classmethod
    def _tier_words(cls, until: object) -> object:
        return {Tier.parse(str(k)): v for k, v in until.items()} if isinstance(until, Mapping) else until

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        """Settings that contradict each other; each message begins with the key at fault."""
        for problem in self._contradictions():
            raise ValueError(problem)
        return self

    def _contradictions(self) -> Iterable[str]:
        edges, pool_cap, split_cap = self.band_edges_hours, self.pool_cap_hours, self.split_cap_hours
        if self.world is None and self.live is None:
            yield "world: no source of papers; name a world folder, or give a [live] block"
        if split_cap > pool_cap:
            yield f"split_cap_hours: {split_cap:g} is above pool_cap_hours {pool_cap:g}; the splits come from the pool"
        if not edges or list(edges) != sorted(set(edges)):
            yield f"band_edges_hours: {_hours(edges)} must rise strictly"
        above = [e for e in edges if e > pool_cap]
        if above:
            yield f"band_edges_hours: {_hours(above)} is above pool_cap_hours {pool_cap:g}; remove it or raise the cap"
        if edges[-1] != pool_cap:
            yield f"band_edges_hours: the last edge {edges[-1]:g} must be pool_cap_hours {pool_cap:g}"
        if split_cap not in edges:
            yield f"band_edges_hours: split_cap_hours {split_cap:g} must be one of the edges {_hours(edges)}"
        if len(self.band_weights) != len(edges):
            yield f"band_weights: {len(self.band_weights)} weights for {len(edges)} bands; give one weight a band"
        if not sum(self.split_weights):
            yield "band_weights: the bands up to split_cap_hours need a weight above zero"
        if (self.sample is None) == (self.until is None):
            yield "sample: give exactly one of sample and until"
        if self.until is not None and self.max_sample is None:
            yield "max_sample: until needs a declared maximum; set max_sample"
        if self.until is None and self.max_sample is not None:
            yield "max_sample: only until reads it; remove it"
        unselectable = [t.value for t in self.until or () if t not in SELECTABLE]
        if unselectable:
            yield f"until: {unselectable[0]} is never selected; use {', '.join(SELECTABLE)}"
        if self.until is not None and sum(self.until.values()) > self.sample_limit:
            yield f"until: asks for {sum(self.until.values())} papers, more than max_sample {self.sample_limit}"
        if self.pool_size > self.sample_limit:
            yield f"pool_size: {self.pool_size} exceeds the sample of {self.sample_limit}"
        if self.eval_size > self.pool_size:
            yield f"eval_size: {self.eval_size} exceeds pool_size {self.pool_size}"
        both = self.eval_size + self.dev_per_tier * len(SELECTABLE)
        if both > self.pool_size:
            yield f"dev_per_tier: eval and dev together need {both} papers, more than pool_size {self.pool_size}"

    @property
    def sample_limit(self) -> int:
        """How many papers the sample holds at most."""
        limit = self.sample if self.sample is not None else self.max_sample
        if limit is None:
            raise EditionError(f"edition {self.name}: sample: give sample, or until with max_sample")
        return limit

    @property
    def split_edges_hours(self) -> tuple[float, ...]:
        return tuple(e for e in self.band_edges_hours if e <= self.split_cap_hours)

    @property
    def split_weights(self) -> tuple[int, ...]:
        return self.band_weights[: len(self.split_edges_hours)]

    @property
    def world_path(self) -> Path | None:
        """The folder of the edition's world: as given to ``load``, under the shipped data, or beside the edition
        file. A world that climbs (``..``) is looked for beside the edition file alone, never from the shipped data.
        """
        if self._world_path is not None or self.world is None:
            return self._world_path
        beside = (self._folder or Path()) / self.world
        places = (beside,) if self._climbs else (data(self.world), beside)
        return next((p for p in places if p.is_dir()), places[0])

    @property
    def venues(self) -> tuple[str, ...]:
        """The OpenReview venue ids of the edition's notes."""
        return (self.live.venues if self.live else ()) or (self.venue,)

    def beside(self, name: str) -> Path:
        """A file that the edition names: as it is where absolute, else beside the edition's own file."""
        return (self._folder or Path()) / Path(name).expanduser()

    @property
    def _climbs(self) -> bool:
        return self.world is not None and ".." in PurePath(self.world).parts

    @property
    def hash(self) -> str:
        """sha256 over the canonical JSON of every setting, inherited ones included; no file path is part of it."""
        return digest(self.settings())

    def part(self, stage: str) -> dict[str, Any]:
        """The settings a stage reads, as JSON values. Raises KeyError naming the stages for an unknown one."""
        if stage not in _READS:
            raise KeyError(f"no stage {stage!r}; stages are {', '.join(_READS)}")
        settings = self.settings()
        part = {key: settings[key] for key in _READS[stage] if key in settings}
        if stage == "sample" and self.until is not None:
            part["scoring"] = settings["scoring"]  # which tier a paper counts for decides when to stop
        return part

    def variant(self, changes: Mapping[str, object]) -> "Edition":
        """This edition with some keys changed, checked as if written in a file. The name stays."""
        return _build(_inherit(self._given, dict(changes)), f"a variant of {self.name}", self._folder, self._world_path)

    def told(self) -> dict[str, Any]:
        """Everything about it as JSON, for `retold` on another machine: unlike `settings`, with its places."""
        folder, world = (place and str(place.resolve()) for place in (self._folder, self._world_path))
        return {"settings": self.model_dump(mode="json"), "folder": folder, "world": world}

    def settings(self) -> dict[str, Any]:
        """Every setting as JSON values, inherited ones included: what is hashed and what a release carries."""
        settings = self.model_dump(mode="json", exclude={"extends"})
        relative = self.world is not None and not PurePath(self.world).is_absolute() and not self._climbs
        shipped = self.world is not None and relative and data(self.world).is_dir()
        if self.world is not None and not shipped:
            settings["world"] = PurePath(self.world).name  # where a folder lies on this machine is not a setting
        if self._world_path is not None:
            settings["world"] = self._world_path.resolve().name
        for key in ("index_file", "arxiv_snapshot"):
            if self.live is not None and settings["live"][key] is not None:
                settings["live"][key] = PurePath(settings["live"][key]).name
        told = settings["classifier"]
        told["model"] = told["model"].partition("@http")[0]
        if "second_looks" in told:
            told["second_looks"] = [name.partition("@http")[0] for name in told["second_looks"]]
        return settings


def data(*parts: str) -> Path:
    """A path in the shipped data: the checkout's ``data/``, or the copy inside the installed wheel."""
    checkout = Path(__file__).resolve().parent.parent
    root = checkout / "data" if (checkout / "pyproject.toml").is_file() else Path(__file__).resolve().parent / "_data"
    return root.joinpath(*parts)


def load(name_or_path: str | Path, world: Path | None = None) -> Edition:
    """Read an edition by shipped name or by file path, with what it extends.

    ``world`` sends it to another world folder. Raises EditionError naming file, key and remedy.
    """
    path = _find(str(name_or_path), None)
    given = _given(path, ())
    if world is not None:
        if not world.is_dir():
            raise EditionError(f"{path}: world: {world} is not a folder; name an existing world folder")
        given.setdefault("world", world.name)
    return _build(given, str(path), path.parent, world)


def retold(told: Mapping[str, Any]) -> Edition:
    """The edition that `Edition.told` told of. Raises EditionError."""
    folder, world = (Path(told[name]) if told[name] else None for name in ("folder", "world"))
    return _build(told["settings"], "the edition as told", folder, world)


def searching(told: LanguageModel | None, environ: Mapping[str, str]) -> LanguageModel | None:
    """How a language model is asked, with the environment's search engine (RECLAIM_WEB_SEARCH) where it names one."""
    engine = environ.get("RECLAIM_WEB_SEARCH")
    if not engine:
        return told
    try:
        return LanguageModel(**{**(told.model_dump() if told else {}), "web_search": engine})
    except ValidationError as error:
        raise EditionError("\n".join(_explain("RECLAIM_WEB_SEARCH", dict(e)) for e in error.errors())) from error


def shipped() -> list[str]:
    """Names of the editions that come with the package."""
    return sorted(p.stem for p in data("editions").glob("*.toml"))


def sample_order(ids: Iterable[str], seed: str) -> list[str]:
    """Papers in the order they are sampled: by sha256 of seed and arXiv id. Any prefix is a uniform sample."""
    return sorted(set(ids), key=lambda i: (hashlib.sha256((seed + i).encode()).digest(), i))


def _find(name: str, beside: Path | None) -> Path:
    candidates = [data("editions", f"{name}.toml"), Path(name), Path(f"{name}.toml")]
    if beside is not None:
        candidates.insert(0, beside / f"{name}.toml")
    for path in candidates:
        if path.suffix == ".toml" and path.is_file():
            return path
    near = get_close_matches(name, shipped(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"shipped editions: {', '.join(shipped())}; or give a .toml file"
    raise EditionError(f"no edition {name!r}: {hint}")


def _given(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """The keys a file gives, over those of the files it extends. The name is the file's own."""
    if path.resolve() in below:
        raise EditionError(f"{path}: extends: the editions extend each other in a circle; break it")
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EditionError(f"{path}: not a TOML file ({error}); correct that line") from error
    if own.setdefault("name", path.stem) != path.stem:
        raise EditionError(f"{path}: name: {own['name']!r} differs from the file's name {path.stem!r}; make them equal")
    base = own.get("extends")
    if base is None:
        return own
    above = _given(_find(str(base), path.parent), (*below, path.resolve()))
    return _inherit({key: value for key, value in above.items() if key != "repo"}, own)


def _inherit(base: Mapping[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The base's keys with the variant's over them; blocks merge key by key.

    A variant that moves the pool's cap and names no edges keeps the base's ladder up to that cap. One that says how to
    sample in one way drops the other way.
    """
    merged = dict(base)
    for key, value in own.items():
        blocks = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping) and key != "until"
        merged[key] = {**merged[key], **value} if blocks else value
    if "sample" in own:
        merged = {k: v for k, v in merged.items() if k not in ("until", "max_sample") or k in own}
    elif "until" in own:
        merged.pop("sample", None)
    if own.keys() & {"split_cap_hours", "pool_cap_hours"} and "band_edges_hours" not in own:
        cap = merged.get("pool_cap_hours", merged.get("split_cap_hours"))
        # What is no list of numbers is left as it is, for validation to name.
        if isinstance(cap, int | float) and _numbers(merged.get("band_edges_hours")):
            merged["band_edges_hours"] = _ladder(merged["band_edges_hours"], cap)
            if _numbers(merged.get("band_weights")) and "band_weights" not in own:
                merged["band_weights"] = _weights(merged["band_weights"], len(merged["band_edges_hours"]))
    return merged


def _build(given: Mapping[str, Any], where: str, folder: Path | None, world: Path | None) -> Edition:
    resolved = dict(given)
    split_cap = resolved.setdefault("split_cap_hours", _LADDER[-1])
    pool_cap = resolved.setdefault("pool_cap_hours", split_cap)
    if isinstance(pool_cap, int | float):
        resolved.setdefault("band_edges_hours", _ladder(_LADDER, pool_cap))
        edges = resolved["band_edges_hours"]
        resolved.setdefault("band_weights", _weights(_WEIGHTS, len(edges) if _numbers(edges) else 0))
    try:
        edition = Edition.model_validate(resolved)
    except ValidationError as error:
        raise EditionError("\n".join(_explain(where, dict(e)) for e in error.errors())) from error
    edition._given = dict(given)
    edition._folder = folder
    edition._world_path = world
    return edition


def _numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, int | float) for one in value)


def _ladder(edges: Sequence[float], cap: float) -> list[float]:
    return [e for e in edges if e < cap] + [cap]


def _weights(weights: Sequence[int], bands: int) -> list[int]:
    """One weight a band; a band dearer than all before weighs as much as the last."""
    return [*weights, *[weights[-1]] * bands][:bands]


def _explain(where: str, error: Mapping[str, Any]) -> str:
    key = ".".join(str(p) for p in error["loc"] if not isinstance(p, Tier))
    if error["type"] == "extra_forbidden":
        known = sorted(Edition.model_fields)
        near = get_close_matches(key, known, n=1)
        return f"{where}: {key}: unknown key; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{where}: {key}: missing; add it"
    return f"{where}: {key}: {message}" if key else f"{where}: {message}"


def _hours(values: Iterable[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)
