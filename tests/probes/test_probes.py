"""Every memory probe, on a phone that has no release: a regression test of all paths (002)."""

from __future__ import annotations

import asyncio

import pytest

from device.probing import Models, Probe, Report, load_suite, run

SUITE = load_suite()


def _asked() -> list[object]:
    """One parameter a probe. A known failure is strict: once it is mended, the mark must go."""
    return [
        pytest.param(
            f"{dialogue.id}/{probe.id}", id=f"{dialogue.id}/{probe.id}", marks=_marks(probe)
        )
        for dialogue, probe in SUITE
    ]


def _marks(probe: Probe) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason=probe.known, strict=True)] if probe.known else []


@pytest.fixture(scope="module")
def report() -> Report:
    return asyncio.run(run(SUITE, Models()))


@pytest.mark.parametrize("name", _asked())
def test_probe(report: Report, name: str) -> None:
    reasons = {result.id: result.reason for result in report.failed}
    assert reasons.get(name, "") == ""


def test_all_probes_were_asked(report: Report) -> None:
    asked = {f"{dialogue.id}/{probe.id}" for dialogue, probe in SUITE}
    assert {result.id for result in report.results} == asked
    assert report.total == len(SUITE) == len(asked)
