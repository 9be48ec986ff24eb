"""`reverie-cloud doctor`: looks at everything a support person would ask about."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cloud.command_line import STATE, Json, State, cloud_in
from cloud.config import DEFAULT_PORT
from cloud.console import out, print_json
from cloud.doctor.checks import CHECKS
from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import Report, examine

__all__ = ["app"]

HERE = (f"http://127.0.0.1:{DEFAULT_PORT}",)
_MARKS = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "fault": ("✗", "red"),
    "unknown": ("?", "yellow"),
}

app = typer.Typer()


@app.command()
def doctor(
    state: State = STATE,
    gateway: Annotated[
        list[str] | None,
        typer.Option(help="Address of a gateway, as this machine reaches it; repeatable."),
    ] = None,
    helper: Annotated[str | None, typer.Option(help="As `serve` got it.")] = None,
    helper_token_file: Annotated[Path | None, typer.Option(help="As `serve` got it.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="As `serve` got it.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="As `serve` got it.")] = None,
    ray_address: Annotated[str, typer.Option(help="As `serve` got it.")] = "",
    as_json: Json = False,
) -> None:
    """Check database, blobs, keys, helper, TLS, ticker, disk, clock, ports, versions and alarms.

    Exits 0 when all is well, 1 when there is something to do, 2 when there is no cloud here.
    Changes nothing, and prints no secret, no report and no phone's id.

    Examples:

      reverie-cloud doctor

      reverie-cloud doctor --gateway https://a:8770 --gateway https://b:8770 --json

      reverie-cloud doctor --helper https://helper:8771 --helper-token-file ./helper.token
    """
    with cloud_in(state) as config:
        named = {"helper_url": helper, "helper_token_file": helper_token_file}
        scene = Scene(
            config=config.model_copy(update=named),
            now=time.time(),
            gateways=tuple(gateway or HERE),
            tls_cert=tls_cert,
            tls_key=tls_key,
            ray_address=ray_address,
        )
        report = asyncio.run(examine(scene, CHECKS))
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


def _print(report: Report) -> None:
    width = max(len(each.name) for each in report.findings)
    for each in report.findings:
        out.print(_line(each, width), soft_wrap=True)


def _line(each: Finding, width: int) -> Text:
    mark, style = _MARKS[each.state]
    text = Text.assemble((mark, style), " ", (each.name.ljust(width), "bold"), "  ", each.said)
    if each.do:
        text.append(f"\n{'':{width + 4}}→ {each.do}", style=style)
    return text
