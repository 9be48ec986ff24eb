"""`reverie-fleet ask QUESTION`: each question a command, with its own sizes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from simulator.quiet import quiet

if TYPE_CHECKING:
    from simulator.ask import Answer

__all__ = ["register"]

_USAGE = 2
_MOST_PHONES, _MOST_DAYS, _MOST_FLEET = 10_000, 366, 10_000_000

questions = typer.Typer(
    help="Answer a question about fleets: a small table and one sentence.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


class Tongue(StrEnum):
    """Languages an answer is told in."""

    EN = "en"
    ZH = "zh"


class BudgetName(StrEnum):
    """Whose noise is asked about."""

    PRODUCTION = "production"
    DEMO = "demo"


Phones = Annotated[int, typer.Option(min=1, max=_MOST_PHONES, help="Phones that really live.")]
Days = Annotated[int, typer.Option(min=1, max=_MOST_DAYS, help="Virtual days.")]
Fleet = Annotated[
    int, typer.Option(min=100, max=_MOST_FLEET, help="Phones that they stand for in a round.")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
Seeds = Annotated[
    int, typer.Option(min=2, max=10, help="Seeds, from --seed on, that give the spread.")
]
Language = Annotated[Tongue, typer.Option(help="Language of the answer.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the questions to `reverie-fleet`."""
    app.add_typer(questions, name="ask")


@questions.command("histogram-error")
def histogram_error(
    within: Annotated[float, typer.Option(min=0.01, max=50.0, help="Percent of the fleet.")] = 1.0,
    budget: Annotated[BudgetName, typer.Option(help="Whose noise.")] = BudgetName.PRODUCTION,
    phones: Annotated[
        int, typer.Option(min=0, max=_MOST_PHONES, help="Phones that really live; 0: none.")
    ] = 24,
    days: Days = 2,
    seed: Seed = 0,
    language: Language = Tongue.EN,
    as_json: Json = False,
) -> None:
    """How many phones until a published histogram is within ±1 %?

    [bold]Example[/]

      reverie-fleet ask histogram-error --within 0.5
    """

    def asked(tell: Callable[[str], None]) -> Answer:
        from simulator.ask_histogram import answer

        return answer(
            within=within, budget=budget.value, phones=phones, days=days, seed=seed, tell=tell
        )

    _tell(asked, language, as_json)


@questions.command("release-95")
def release_95(
    phones: Phones = 40,
    days: Days = 5,
    seed: Seed = 0,
    drawn: Annotated[
        int, typer.Option(min=0, max=100_000, help="Phones whose availability alone is drawn.")
    ] = 1_000,
    language: Language = Tongue.EN,
    as_json: Json = False,
) -> None:
    """How long does a new release take to reach 95 % of the phones?

    [bold]Example[/]

      reverie-fleet ask release-95 --phones 60 --days 5
    """

    def asked(tell: Callable[[str], None]) -> Answer:
        from simulator.ask_release import answer

        return answer(phones=phones, days=days, seed=seed, drawn=drawn, tell=tell)

    _tell(asked, language, as_json)


@questions.command("epsilon-cost")
def epsilon_cost(
    phones: Phones = 48,
    days: Days = 2,
    fleet: Annotated[
        list[int] | None,
        typer.Option(
            min=100,
            max=_MOST_FLEET,
            help="Phones of a round that they stand for; give it once for each size.",
            show_default="1000, 10000, 100000",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=200, help="Rounds of the router; 6 are a year.")
    ] = 6,
    seed: Seed = 0,
    seeds: Seeds = 8,
    language: Language = Tongue.EN,
    as_json: Json = False,
) -> None:
    """What do ε = 1, 4 and 8 a year cost in router accuracy?

    [bold]Example[/]

      reverie-fleet ask epsilon-cost --fleet 1000 --fleet 50000
    """

    def asked(tell: Callable[[str], None]) -> Answer:
        from simulator.ask_epsilon import FLEETS, answer

        return answer(
            phones=phones,
            days=days,
            fleets=sorted(set(fleet or FLEETS)),
            rounds=rounds,
            seed=seed,
            seeds=seeds,
            tell=tell,
        )

    _tell(asked, language, as_json)


@questions.command()
def outage(
    phones: Phones = 24,
    days: Annotated[int, typer.Option(min=4, max=_MOST_DAYS, help="Virtual days.")] = 5,
    seed: Seed = 0,
    language: Language = Tongue.EN,
    as_json: Json = False,
) -> None:
    """What happens if the cloud is down for two days?

    [bold]Example[/]

      reverie-fleet ask outage --days 7
    """

    def asked(tell: Callable[[str], None]) -> Answer:
        from simulator.ask_worlds import outage as answer

        return answer(phones=phones, days=days, seed=seed, tell=tell)

    _tell(asked, language, as_json)


@questions.command("never-wifi")
def never_wifi(
    phones: Annotated[
        int, typer.Option(min=4, max=_MOST_PHONES, help="Phones that really live.")
    ] = 44,
    days: Days = 3,
    fleet: Fleet = 10_000,
    skew: Annotated[
        float,
        typer.Option(
            min=0.5, max=0.99, help="How far the halves' languages differ; 0.5: not at all."
        ),
    ] = 0.85,
    seed: Seed = 0,
    seeds: Seeds = 8,
    language: Language = Tongue.EN,
    as_json: Json = False,
) -> None:
    """What does a population half of which is never on Wi-Fi do to the fairness of the model?

    [bold]Example[/]

      reverie-fleet ask never-wifi --language zh
    """

    def asked(tell: Callable[[str], None]) -> Answer:
        from simulator.ask_fairness import answer

        return answer(
            phones=phones, days=days, fleet=fleet, skew=skew, seed=seed, seeds=seeds, tell=tell
        )

    _tell(asked, language, as_json)


def _tell(
    asked: Callable[[Callable[[str], None]], Answer], language: Tongue, as_json: bool
) -> None:
    """Ask, show each step where somebody watches, and print the answer."""
    quiet()
    console, watched = Console(stderr=as_json), Console(stderr=True)
    try:
        if watched.is_terminal:
            with watched.status("…") as status:
                answer = asked(partial(_step, status.update))
        else:
            answer = asked(lambda _step: None)
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed; run: pip install 'reverie[simulator]'"
        console.print(f"reverie-fleet: {reason}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(_USAGE) from None
    from simulator.ask import as_json as told
    from simulator.ask import say

    if as_json:
        sys.stdout.write(json.dumps(told(answer), ensure_ascii=False, indent=2) + "\n")
    else:
        say(answer, language.value, console)


def _step(update: Callable[..., Any], said: str) -> None:
    update(f"{said} …")
