"""A world as a file: who lives in it, for how long, and what goes wrong.

    name: commuters
    about: {en: "…", zh: "…"}
    phones: 60
    days: 3
    population: {commuter: 0.7, measured: 0.3}

Every field has a default, and the defaults are the scenario ``demo``. `Scenario.model_fields` is
the reference; `reverie-fleet scenarios` lists the ready ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from simulator.faults.plan import FaultPlan
from simulator.fidelity import Fidelity
from simulator.habits import HabitName
from simulator.yaml_lines import Document, YamlUnreadable, read_document

__all__ = [
    "MAX_DAYS",
    "MAX_PHONES",
    "About",
    "Agents",
    "Mix",
    "Scenario",
    "ScenarioUnreadable",
    "load_scenario",
    "ready_scenarios",
]

MAX_PHONES = 200_000
MAX_DAYS = 366
_MAX_BYTES = 64 << 10
_MAX_DIALOGUES = 16
_READY = "scenarios"
_SUFFIX = ".yaml"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SHOWN = 40
"""Characters shown of a name that is not known."""


class ScenarioUnreadable(Exception):
    """A scenario that cannot be played; one line says where, why and what is allowed."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class About(_Part):
    """One sentence on what a scenario is for."""

    en: str = Field(max_length=300)
    zh: str = Field(max_length=300)


class Mix(_Part):
    """Who tells what. Without `alpha` each phone retells one story, or a part of one."""

    alpha: float | None = Field(default=None, gt=0.0, le=1_000.0)
    """Concentration of the symmetric Dirichlet distribution from which each person's shares of
    languages and topics are drawn: 0.1 is nearly one kind a person, 100 nearly all alike."""
    dialogues: int = Field(default=1, ge=1, le=_MAX_DIALOGUES)
    """Stories that one person tells, where `alpha` is given."""


class Agents(_Part):
    """Phone agents that work apps for their owners."""

    share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Of the phones that have one."""
    runs_a_day: float = Field(default=3.0, gt=0.0, le=100.0)
    episodes: Path | None = None
    """Recorded GUI episodes as `reverie-device import-episodes` reads them; None: the sample."""


def _stormy(value: Any) -> Any:
    """``{storm: 0.5}``, with ``to_day`` if it is to end, stands for the standard storm."""
    if isinstance(value, Mapping) and "storm" in value:
        given = dict(value)
        strength, to_day = given.pop("storm"), given.pop("to_day", None)
        if not _is_number(strength) or (to_day is not None and not _is_number(to_day)):
            raise ValueError("storm is a strength from 0 on, to_day a number of days")
        stormy = FaultPlan.storm(strength, to_day=to_day)
        return {**{name: fault.model_dump() for name, fault in stormy.items()}, **given}
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_Zones: TypeAlias = dict[str, tuple[str, ...]]


class Scenario(_Part):
    """Everything a world is made of but where it runs."""

    name: str = Field(default="demo", pattern=_NAME.pattern)
    about: About = About(
        en="A few dozen phones over three ordinary days, to see the whole loop close.",
        zh="几十部手机，三个平常的日子，看完整的循环如何闭合。",
    )
    phones: int = Field(default=50, ge=1, le=MAX_PHONES)
    days: int = Field(default=3, ge=1, le=MAX_DAYS)
    seed: int = Field(default=0, ge=0)
    budget: Literal["demo", "production"] = "demo"
    aggregation: Literal["two-server", "local"] = "two-server"
    data: Path | None = None
    """Dialogues; None for the shipped sample. A path is relative to the scenario's file."""
    mix: Mix = Mix()
    agents: Agents = Agents()
    population: dict[HabitName, Annotated[float, Field(ge=0.0, le=1e9)]] = Field(
        default={HabitName.MEASURED: 1.0}, min_length=1
    )
    """Shares of `simulator.habits`; they need not sum to 1."""
    balanced: bool = False
    """Hold the population's share of window minutes at the measured one, whatever its habits."""
    availability: Literal["fitted", "daily"] | Path = "daily"
    """``fitted``: the model by hour and weekday; ``daily``: by hour alone; else a trace file."""
    zones: _Zones = {}
    """IANA zones by language; None for the project's own choice."""
    faults: Annotated[FaultPlan, BeforeValidator(_stormy)] = FaultPlan()
    fidelity: Fidelity = "full"
    """``full``: every phone does all of its work; ``light``: see `simulator.fidelity`."""

    @field_validator("population")
    @classmethod
    def _somebody(cls, shares: dict[HabitName, float]) -> dict[HabitName, float]:
        if not sum(shares.values()):
            raise ValueError("some habit needs a share above 0")
        return shares

    @field_validator("zones")
    @classmethod
    def _known_zones(cls, zones: _Zones) -> _Zones:
        for name in (name for names in zones.values() for name in names):
            try:
                ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError(f"{name[:_SHOWN]!r} is no IANA time zone") from None
        if not all(zones.values()):
            raise ValueError("each language needs at least one zone")
        return zones

    def changed(self, **fields: Any) -> Scenario:
        """The same scenario with those of `fields` that are not None.

        Raises:
            ScenarioUnreadable: a value is not allowed.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        try:
            return Scenario.model_validate({**dict(self), **given})
        except ValidationError as error:
            raise ScenarioUnreadable(_line(error, None, "scenario")) from None


def load_scenario(named: str) -> Scenario:
    """A ready scenario by its name, or one from a YAML file by its path.

    Raises:
        ScenarioUnreadable: no such scenario, or a file with a fault in it.
    """
    ready = _ready_files()
    if named in ready:
        return _parsed(ready[named], named + _SUFFIX, None)
    path = Path(named)
    if not path.suffix and not path.exists():
        known = ", ".join(ready)
        raise ScenarioUnreadable(
            f"no scenario is called {named[:_SHOWN]!r}; there are {known}, or give a file"
        )
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ScenarioUnreadable(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioUnreadable(f"{path} is not UTF-8 text") from None
    if len(content) > _MAX_BYTES:
        raise ScenarioUnreadable(f"{path}: over {_MAX_BYTES >> 10} KiB; this is no scenario")
    return _parsed(text, str(path), path.parent)


def ready_scenarios() -> list[Scenario]:
    """The shipped scenarios by name."""
    return [_parsed(text, name + _SUFFIX, None) for name, text in _ready_files().items()]


def _ready_files() -> dict[str, str]:
    folder = resources.files("simulator").joinpath(_READY)
    return {
        file.name.removesuffix(_SUFFIX): file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(_SUFFIX)
    }


def _parsed(text: str, source: str, beside: Path | None) -> Scenario:
    try:
        document = read_document(text)
    except YamlUnreadable as error:
        raise ScenarioUnreadable(f"{source}: {error}") from None
    try:
        scenario = Scenario.model_validate(document.value)
    except ValidationError as error:
        raise ScenarioUnreadable(_line(error, document, source)) from None
    return scenario if beside is None else _placed(scenario, beside)


def _placed(scenario: Scenario, folder: Path) -> Scenario:
    """Paths of a file are relative to it."""
    agents, changes = scenario.agents, {}
    if scenario.data is not None:
        changes["data"] = folder / scenario.data
    if isinstance(scenario.availability, Path):
        changes["availability"] = folder / scenario.availability
    placed = scenario.model_copy(update=changes)
    if agents.episodes is None:
        return placed
    agents = agents.model_copy(update={"episodes": folder / agents.episodes})
    return placed.model_copy(update={"agents": agents})


def _line(error: ValidationError, document: Document | None, source: str) -> str:
    """The first fault: file, line, field, what is wrong, what is allowed."""
    first = error.errors(include_url=False, include_context=True)[0]
    path = [part for part in first["loc"] if part != "[key]"]
    where = ".".join(str(part) for part in path)[: 2 * _SHOWN]
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        said = f"no such field; allowed: {', '.join(_allowed(path[:-1]))}"
    line = document.line_of(path) if document is not None else 0
    place = f"{source}: line {line}" if line else source
    return " ".join(f"{place}: {where + ': ' if where else ''}{said}".split())


def _allowed(path: list[Any]) -> list[str]:
    """Fields of the model at `path`."""
    model: Any = Scenario
    for part in path:
        field = getattr(model, "model_fields", {}).get(part)
        model = field.annotation if field is not None else None
        if model is None:
            return []
    return list(getattr(model, "model_fields", {}))
