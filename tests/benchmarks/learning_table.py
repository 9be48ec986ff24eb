"""The arms of the ablation, the attacks on it, and what is measured of each over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tests.benchmarks.learning_data import RealSet, split_owners
from tests.benchmarks.learning_loop import Arm, Defences, Played, play
from tests.benchmarks.learning_poison import Attack

__all__ = ["Measured", "arms", "attacks", "markdown", "measured", "measured_attack"]

T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Two-sided 95 % quantile of Student's t, by number of seeds."""
NAMED = 10_000
"""The fleet size at which the shipped loop has to improve."""
OTHERS = ((NAMED, 4.0), (NAMED, 1.0), (1_000, 8.0), (100_000, 8.0))
"""Further fleets and ε for the shipped loop."""
SHIPPED = "+ federated + usage, ε 8"
WHOLE = (1.0,)
"""No part of a move where the gate refuses all of it."""
YEAR_ROUNDS = 6
"""One year of one model: the two models share 13 participations."""
ATTACK_ROUNDS = 3
GROUPED = 2_000
"""Phones trained where their sums are taken in groups: liars must be in every group, as they are
when all the fleet is there."""
POISONED = 0.05
OPEN = Defences(refusal=False, ball=False, judge="none", adoption=False)
"""No defence but the honest phones' own clip."""


_SERVER = replace(OPEN, refusal=True, ball=True)
ATTACKS: tuple[Attack | None, ...] = (
    None,
    Attack("sign flip", POISONED),
    Attack("label flip", POISONED),
    Attack("backdoor", POISONED),
    Attack("scaling", POISONED, 10.0),
    Attack("scaling", POISONED, 1e6),
    Attack("sign flip", POISONED / 5),
    Attack("scaling", POISONED / 5, 100.0),
)


@dataclass(frozen=True)
class Measured:
    """One arm: mean and standard deviation over seeds of its figure on strangers' examples, the
    start's mean, the paired difference and half the width of its 95 % interval."""

    model: str
    name: str
    figure: str
    seeds: int
    start: float
    mean: float
    spread: float
    gain: float
    margin: float
    exact_start: float
    exact: float
    built_in_start: float
    built_in: float
    published: float
    aims: bool = False

    def as_json(self) -> dict[str, Any]:
        """As `out/ablation.json` holds it."""
        return asdict(self)


def arms(*, full: bool, rounds: int = YEAR_ROUNDS) -> Iterator[Arm]:
    """The shipped loop last of the first three; `full` adds fleets, ε, ceilings and what could be
    done better."""
    federated = Arm("+ federated, ε 8", NAMED, rounds=rounds)
    shipped = replace(federated, name=SHIPPED, reweighted=True)
    yield replace(shipped, name="whole moves or none, ε 8", shares=WHOLE)
    yield federated
    yield shipped
    if not full:
        return
    for name, arm in (("+ federated", federated), ("+ federated + usage", shipped)):
        yield replace(arm, name=f"{name}, no noise", epsilon=math.inf)
    for phones, epsilon in OTHERS:
        name = f"+ federated + usage, ε {epsilon:g}"
        yield replace(shipped, name=name, phones=phones, epsilon=epsilon)
    better = {
        "and rehearsal on phones": replace(shipped, rehearsal=1.0),
        "gate: not worse": replace(shipped, defences=Defences(adoption=False, judge="not worse")),
        "no gate": replace(federated, defences=Defences(adoption=False, judge="none")),
    }
    for name, arm in better.items():
        yield replace(arm, name=f"{name}, ε 8")


def attacks(*, full: bool) -> Iterator[Arm]:
    """Attacks by 5 % of the phones, and 1 %, against all defences; `full`: and against fewer."""
    shipped = Arm("", NAMED, reweighted=True, rounds=ATTACK_ROUNDS, defences=Defences())
    against = {"all defences": shipped}
    if full:
        # Without a gate there is no need of the refresh that helps to pass it.
        bare = replace(shipped, reweighted=False)
        against |= {
            "only honest phones clip": replace(bare, defences=OPEN),
            "and refusal, clip ball": replace(bare, defences=_SERVER),
            "and median of 10 groups": replace(
                bare, defences=replace(_SERVER, groups=10), trained=GROUPED
            ),
            "and the gate": replace(bare, defences=replace(_SERVER, judge="gate")),
        }
    for attack in ATTACKS if full else ATTACKS[:3]:
        for name, arm in against.items():
            yield replace(arm, name=f"{_said(attack)}: {name}", attack=attack)


def measured(model: str, arm: Arm, real: RealSet, seeds: Sequence[int]) -> Measured:
    """Play an arm on some seeds, each with a start, a fleet and test persons of its own."""
    played = []
    for seed in seeds:
        phones, test = split_owners(real, seed)
        played.append(play(model, arm, seed, phones, test))
    aims = arm.name == SHIPPED and arm.phones == NAMED
    return _measured(model, f"{arm.name}, {arm.phones:,} phones", played, aims=aims)


def measured_attack(model: str, arm: Arm, real: RealSet, seeds: Sequence[int]) -> Measured:
    """The same; that nothing improves under attack is no failure."""
    return replace(measured(model, arm, real, seeds), aims=False)


def markdown(found: Sequence[Measured]) -> str:
    """The table as a README shows it."""
    lines = [
        "| model | arm | start | after | gain (95 %) | exact | built-in | released |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.model} | {one.name} | {one.start:.3f} | {one.mean:.3f} ± {one.spread:.3f} "
        f"| {one.gain:+.3f} ± {one.margin:.3f} | {one.exact_start:.3f} → {one.exact:.3f} "
        f"| {one.built_in_start:.3f} → {one.built_in:.3f} | {one.published:.1f} |"
        for one in found
    ]
    return "\n".join(lines) + "\n"


def _measured(model: str, name: str, played: Sequence[Played], *, aims: bool) -> Measured:
    # The router's f1 is the share of queries whose strongest layer is a right one.
    start = np.array([one.real[0].f1 for one in played])
    after = np.array([one.real[-1].f1 for one in played])
    gains = after - start
    margin = T_95[len(played)] * float(gains.std(ddof=1)) / math.sqrt(len(played))
    return Measured(
        model,
        name,
        "top layer right" if model == "router" else "F1 of the same",
        len(played),
        float(start.mean()),
        float(after.mean()),
        float(after.std(ddof=1)),
        float(gains.mean()),
        margin,
        float(np.mean([one.real[0].exact for one in played])),
        float(np.mean([one.real[-1].exact for one in played])),
        float(np.mean([one.built_in[0].accuracy for one in played])),
        float(np.mean([one.built_in[-1].accuracy for one in played])),
        float(np.mean([sum(one.published) - 1 for one in played])),
        aims,
    )


def _said(attack: Attack | None) -> str:
    if attack is None:
        return "nobody lies"
    factor = f" ×{attack.factor:g}" if attack.kind == "scaling" else ""
    return f"{attack.share:.0%} {attack.kind}{factor}"
