"""The exact samplers: series by series in rationals, then draws against pmf and OpenDP."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privacy.mechanisms
from privacy.accounting import epsilon, rho_of, rho_units
from privacy.mechanisms import GaussianTable, discrete_gaussian, discrete_laplace, exact
from privacy.mechanisms.uniform import Uniform
from tests.privacy.sampling import (
    SIGMAS,
    Options,
    Walk,
    exact_exp,
    gaussian_weights,
    hashed_bits,
    laplace_weights,
    misfit,
    outcomes,
)

_ROOM = Path(privacy.mechanisms.__file__).parent


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)])
def test_the_coin_has_exactly_its_probability(exponent: Fraction) -> None:
    """Algorithm 1, every branch walked: P(True) = exp(-exponent) but for paths under 1e-30."""
    top, bottom = exponent.numerator, exponent.denominator

    def split(bound: int) -> Options:  # the code asks "below top?": one value for either answer
        return [(value, chance) for value, chance in _cut(top, bound) if chance > 0]

    chances = outcomes(
        lambda walk: exact._bernoulli_exp_below_one(top, bottom, walk), split, Fraction(1, 10**30)
    )
    lost = 1 - sum(chances.values())
    assert chances[True] <= exact_exp(-exponent) <= chances[True] + lost
    assert lost < Fraction(1, 10**25)


def _cut(threshold: int, bound: int) -> Options:
    below = min(threshold, bound)
    return [(below - 1, Fraction(below, bound)), (below, Fraction(bound - below, bound))]


@pytest.fixture
def exact_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coins of known probability in place of Algorithm 1 (tested above): few branches to walk."""

    def coin(top: int, bottom: int, walk: _OnePass) -> bool:
        chance = exact_exp(-Fraction(top, bottom), 30)
        return walk.choose([(1, chance), (0, 1 - chance)]) == 1

    monkeypatch.setattr(exact, "_bernoulli_exp_below_one", coin)


class _Rejected(Exception):
    """The sampler began its loop anew: what it returns then is distributed like a first pass."""


class _OnePass:
    """A walk that ends when a sampler asks for its first integer a second time."""

    def __init__(self, walk: Walk, first: int) -> None:
        self._walk = walk
        self._first = first
        self._begun = False

    def below(self, bound: int) -> int:
        if bound == self._first and self._begun:
            raise _Rejected
        self._begun = True
        return self._walk.below(bound)

    def choose(self, options: Options) -> int:
        return self._walk.choose(options)


def _first_pass(program: Callable[[Walk], int]) -> dict[int, Fraction]:
    """Relative weights of a rejection sampler's values, and under _NOTHING of a rejection."""

    def attempt(walk: Walk) -> int:
        try:
            return program(walk)
        except _Rejected:
            return _NOTHING

    chances = outcomes(attempt, floor=_RARE)
    assert 1 - sum(chances.values()) < Fraction(1, 10**15)
    return chances


_RARE = Fraction(1, 10**20)
_NOTHING = 1 << 40


@pytest.mark.usefixtures("exact_coins")
@pytest.mark.parametrize("scale", ["1", "1/2", "3/2", "3/4", "5", "5/3"])
def test_the_laplace_algorithm_has_exactly_its_probabilities(scale: str) -> None:
    """Algorithm 2, every branch walked; 2 would be taken for the coin that decides the sign."""
    width = Fraction(scale)
    top = width.numerator
    chances = _first_pass(lambda walk: exact._laplace(top, width.denominator, _OnePass(walk, top)))
    ratio = exact_exp(-1 / width)
    for x in range(-6, 7):
        assert chances[x] == chances[-x]
        assert abs(chances[x] / chances[0] - ratio ** abs(x)) < Fraction(1, 10**15)


@pytest.mark.usefixtures("exact_coins")
@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(16)])
def test_the_gaussian_algorithm_has_exactly_its_probabilities(
    sigma2: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algorithm 3, every branch walked, over the proposals it asks for."""

    def propose(top: int, bottom: int, walk: _OnePass) -> int:
        ratio = exact_exp(-Fraction(bottom, top), 30)
        weights = [(1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-9, 10)]
        position = walk.below(len(weights))  # uniform over proposals, weighted below
        if walk.choose([(0, weights[position]), (1, 1 - weights[position])]):
            raise _Rejected
        return position - 9

    monkeypatch.setattr(exact, "_laplace", propose)
    chances = _first_pass(lambda walk: exact._gaussian(sigma2, _OnePass(walk, 19)))
    for x in range(-4, 5):
        weight = exact_exp(-Fraction(x * x) / (2 * sigma2))
        assert chances[x] == chances[-x]
        assert abs(chances[x] / chances[0] - weight) < Fraction(1, 10**12)


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(2), Fraction(31, 2), Fraction(900)])
def test_gaussian_draws_follow_the_pmf(sigma2: Fraction) -> None:
    seed = 11
    draws = discrete_gaussian(sigma2, 20_000, hashed_bits(seed))
    reach = math.isqrt(math.floor(64 * sigma2)) + 2
    assert misfit(draws, gaussian_weights(sigma2, reach)) < SIGMAS, f"seed {seed}"


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(50)])
def test_laplace_draws_follow_the_pmf(scale: Fraction) -> None:
    seed = 21
    draws = discrete_laplace(scale, 20_000, hashed_bits(seed))
    reach = math.ceil(24 * scale) + 1
    assert misfit(draws, laplace_weights(scale, reach)) < SIGMAS, f"seed {seed}"


def test_the_fit_has_power() -> None:
    """Eight per cent too little noise, and a Laplace passed off as a Gaussian, go red."""
    draws = discrete_gaussian(92**2, 20_000, hashed_bits(31))
    assert misfit(draws, gaussian_weights(100**2, 900)) > SIGMAS
    laplace = discrete_laplace(7, 20_000, hashed_bits(32))
    assert misfit(laplace, gaussian_weights(98, 80)) > SIGMAS


def test_uniform_integers_are_uniform_and_use_every_bit() -> None:
    seed = 41
    uniform = Uniform(hashed_bits(seed))
    draws = [uniform.below(11) for _ in range(22_000)]
    assert misfit(draws, dict.fromkeys(range(11), 1.0)) < SIGMAS, f"seed {seed}"
    # powers of two waste nothing: the values are the bits in order
    pattern = bytes(range(256)) * 2
    nibbles = Uniform(lambda n: pattern[:n])
    assert [nibbles.below(16) for _ in range(6)] == [0, 0, 1, 0, 2, 0]
    assert Uniform(lambda n: b"").below(1) == 0


def _largest_gap(left: np.ndarray, right: np.ndarray) -> float:
    """Kolmogorov-Smirnov statistic of two samples of integers."""
    grid = np.arange(min(left.min(), right.min()), max(left.max(), right.max()) + 1)
    ranks = [
        np.searchsorted(np.sort(side), grid, side="right") / len(side) for side in (left, right)
    ]
    return float(np.max(np.abs(ranks[0] - ranks[1])))


_KS_LIMIT = 2.6
"""Times sqrt(1/n + 1/m): alpha about 3e-6, for OpenDP's draws cannot be seeded."""


def test_gaussian_agrees_with_opendp() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    sigma, n, seed = 60, 20_000, 15
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l2_distance(T=float)
    peer = opendp.m.make_gaussian(*space, scale=float(sigma))
    theirs = np.array(peer([0] * n))
    slow = np.array(discrete_gaussian(sigma * sigma, n, hashed_bits(seed)))
    table = GaussianTable(sigma * sigma).sample(n, hashed_bits(seed + 1))
    limit = _KS_LIMIT * math.sqrt(2 / n)
    assert _largest_gap(slow, theirs) < limit, f"seed {seed}"
    assert _largest_gap(table, theirs) < limit, f"seed {seed + 1}"
    assert _largest_gap((table * 1.2).astype(np.int64), theirs) > limit
    # the prices agree too: sigma → rho → epsilon
    for sensitivity in (1.0, 16.0, 60.0):
        units = rho_units(sensitivity, sigma)
        assert rho_of(units) == pytest.approx(peer.map(sensitivity), rel=1e-9, abs=2**-40)
        profile = opendp.c.make_zCDP_to_approxDP(peer).map(sensitivity)
        assert epsilon(units, 1e-6) == pytest.approx(profile.epsilon(1e-6), rel=1e-6)


def test_laplace_agrees_with_opendp() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    scale, n, seed = Fraction(15, 2), 20_000, 25
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    peer = opendp.m.make_laplace(*space, scale=float(scale))
    theirs = np.array(peer([0] * n))
    ours = np.array(discrete_laplace(scale, n, hashed_bits(seed)))
    assert _largest_gap(ours, theirs) < _KS_LIMIT * math.sqrt(2 / n), f"seed {seed}"
    assert peer.map(3) == pytest.approx(float(3 / scale))


def _calls_and_floats(tree: ast.AST) -> list[str]:
    """Everything in the code by which a float could reach a decision."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            found.append(f"{node.value} in line {node.lineno}")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            found.append(f"division in line {node.lineno}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called = ast.unparse(node.func)
            if called in {"float", "math.exp", "math.sqrt", "math.log", "np.exp", "np.float64"}:
                found.append(f"{called} in line {node.lineno}")
    return found


@pytest.mark.parametrize("module", ["exact.py", "uniform.py"])
def test_no_float_decides_in_the_exact_samplers(module: str) -> None:
    assert _calls_and_floats(ast.parse((_ROOM / module).read_text())) == []


@pytest.mark.parametrize(
    ("module", "functions"),
    [
        ("table.py", {"sample", "_search", "_break_ties", "_thresholds"}),
        ("local.py", {"_draw", "randomise"}),
    ],
)
def test_no_float_decides_a_draw(module: str, functions: set[str]) -> None:
    tree = ast.parse((_ROOM / module).read_text())
    bodies = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in functions
    ]
    assert {body.name for body in bodies} == functions
    assert [line for body in bodies for line in _calls_and_floats(body)] == []


def test_the_check_for_floats_sees_them() -> None:
    code = "def f(x):\n    return math.exp(-x / 2) < 0.5 or float(x)"
    assert len(_calls_and_floats(ast.parse(code))) == 4


def test_no_other_randomness_is_within_reach() -> None:
    allowed = {"__future__", "collections.abc", "dataclasses", "decimal", "fractions", "functools"}
    allowed |= {"math", "numpy", "numpy.typing", "typing", "privacy.bits"}
    for path in _ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name in allowed or name.startswith("privacy.mechanisms"), f"{path}: {name}"
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"random", "default_rng", "urandom"}, path


def test_parameters_that_are_no_distribution_are_refused() -> None:
    for bad in (0, -1, Fraction(-1, 2)):
        with pytest.raises(ValueError, match="sigma2 must be positive"):
            discrete_gaussian(bad, 1, os.urandom)
        with pytest.raises(ValueError, match="scale must be positive"):
            discrete_laplace(bad, 1, os.urandom)
    assert discrete_gaussian(4, 0, os.urandom) == []


def test_short_randomness_is_refused() -> None:
    for sampler in (discrete_gaussian, discrete_laplace):
        with pytest.raises(ValueError, match="wrong number"):
            sampler(400, 10, lambda n: os.urandom(n - 1))
