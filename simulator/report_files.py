"""Reports on disk: written only as the schema says, read only where it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.page import render
from simulator.report_schema import SCHEMA_VERSION, Report

__all__ = ["MAX_BYTES", "ReportUnreadable", "checked", "read_report", "write"]

MAX_BYTES = 128 << 20
"""Size of the largest report that is read: one of 200,000 phones over a year is a third of it."""
_NAME = "report.json"


class ReportUnreadable(Exception):
    """A file that is no report; the message is one line that names it and says why."""


def checked(report: dict[str, Any]) -> Report:
    """The report as the schema reads it.

    Raises:
        ReportUnreadable: it does not follow the schema.
    """
    version = report.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ReportUnreadable(
            f"its schema_version is {version!r}, this reverie-fleet reads {SCHEMA_VERSION}"
        )
    try:
        return Report.model_validate(report, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise ReportUnreadable(f"{place}: {first['msg']}{more}") from None


def write(report: dict[str, Any], out: Path) -> None:
    """Write report.json and report.html into the folder `out`.

    Raises:
        ReportUnreadable: the report does not follow the schema: a part of the simulator reports
            what simulator/report_schema.py does not know.
        OSError: the folder cannot hold them.
    """
    checked(report)
    text = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False)
    (out / _NAME).write_text(text + "\n", encoding="utf-8")
    (out / "report.html").write_text(render(report), encoding="utf-8")


def read_report(path: Path) -> dict[str, Any]:
    """The report in a file, or in the report.json of a folder, checked.

    Raises:
        ReportUnreadable: absent, too large, no JSON, or against the schema.
    """
    file = path / _NAME if path.is_dir() else path
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReportUnreadable(f"{file}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise ReportUnreadable(f"{file}: larger than {MAX_BYTES >> 20} MiB")
    try:
        report = json.loads(content)
    except (ValueError, RecursionError):
        raise ReportUnreadable(f"{file}: not JSON") from None
    if not isinstance(report, dict):
        raise ReportUnreadable(f"{file}: not a report")
    try:
        checked(report)
    except ReportUnreadable as error:
        raise ReportUnreadable(f"{file}: {error}") from None
    return report
