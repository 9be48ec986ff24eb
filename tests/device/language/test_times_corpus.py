"""The public recogniser cases: how many dates come out right. Floors are what is reached now."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from device.language import find_times

FLOORS = {"zh": 0.70, "en": 0.75}


def single_dates(path: Path) -> list[tuple[str, datetime, str]]:
    """(input, reference, the one date meant) of every case with a single-valued date."""
    cases = []
    for case in json.loads(path.read_text(encoding="utf-8")):
        reference = (case.get("Context") or {}).get("ReferenceDateTime")
        for result in case["Results"]:
            values = {v.get("value") for v in result.get("Resolution", {}).get("values", [])}
            if reference and result["TypeName"].endswith(".date") and len(values) == 1:
                when = datetime.fromisoformat(reference).replace(tzinfo=UTC)
                cases.append((case["Input"], when, str(values.pop())))
    return cases


@pytest.mark.parametrize("language", ["zh", "en"])
def test_single_dates_of_the_public_cases(shared_data: Path, language: str) -> None:
    cases = single_dates(shared_data / "datetime" / f"{language}.json")
    right = 0
    for text, reference, expected in cases:
        found = find_times(text, reference)
        dates = {datetime.fromtimestamp(e.start, UTC).date().isoformat() for e in found}
        right += expected in dates
    assert cases
    assert right / len(cases) >= FLOORS[language]
