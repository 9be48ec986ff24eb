"""report.json: documented field by field, written only so, read with one line of refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator import cli, report_files
from simulator.report_files import ReportUnreadable, checked, read_report, write
from simulator.report_schema import SCHEMA_VERSION, json_schema

from .conftest import Report


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in [("Report", schema), *schema["$defs"].items()]:
        assert part["additionalProperties"] is False, name
        yield from ((f"{name}.{key}", each) for key, each in part["properties"].items())


def test_every_field_says_what_it_is() -> None:
    told = dict(properties(json_schema()))
    assert len(told) > 80
    assert [key for key, each in told.items() if not each.get("description")] == []


def test_the_command_prints_the_schema() -> None:
    result = CliRunner().invoke(cli.app, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json_schema()


def test_a_played_report_follows_it(report: Report) -> None:
    assert checked(report).schema_version == SCHEMA_VERSION
    assert checked(report).model_dump(exclude_unset=True) == report


def test_what_the_schema_does_not_know_is_not_written(report: Report, tmp_path: Path) -> None:
    report["extra"] = 1
    with pytest.raises(ReportUnreadable, match=r"^extra: Extra inputs are not permitted$"):
        write(report, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("phones", 0, "phones: "),
        ("digest", "00", "digest: "),
        ("schema_version", 99, "its schema_version is 99, this reverie-fleet reads 1"),
        ("schema_version", None, "its schema_version is None"),
        ("window_hours", float("inf"), "window_hours: "),
        ("timeline", {}, "timeline.availability: Field required (and "),
    ],
)
def test_a_report_against_the_schema_is_refused_in_a_line(
    report: Report, tmp_path: Path, key: str, value: object, said: str
) -> None:
    report[key] = value
    file = tmp_path / "r.json"
    file.write_text(json.dumps(report))
    with pytest.raises(ReportUnreadable) as refusal:
        read_report(file)
    assert str(refusal.value).startswith(f"{file}: {said}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "not a report"),
    ],
)
def test_what_is_no_report_is_refused_in_a_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(content)
    with pytest.raises(ReportUnreadable, match=f"{said}$"):
        read_report(tmp_path)


def test_too_large_a_file_is_not_read(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report))
    assert read_report(file) == report
    monkeypatch.setattr(report_files, "MAX_BYTES", file.stat().st_size - 1)
    with pytest.raises(ReportUnreadable, match="larger than"):
        read_report(file)


def test_an_absent_file_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(ReportUnreadable, match="No such file or directory"):
        read_report(tmp_path / "none.json")
