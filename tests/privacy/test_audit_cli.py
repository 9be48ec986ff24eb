"""`reverie-audit`: exit codes, JSON, and one plain line for whatever cannot be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from privacy import LedgerUnavailable
from privacy.audit import mechanisms, openers
from privacy.audit.evidence import FleetEvidence
from privacy.audit.mechanisms import MechanismVerdict
from privacy.cli import app
from tests.privacy.audit_parts import (
    CLOUD_KEY,
    OTHER_KEY,
    edited,
    find,
    other_value,
    rechained,
    rich_ledger,
)
from tests.privacy.parts import MemoryLog
from tests.privacy.test_audit_fleet import HELPER_KEY, RELEASE, usage_round

KEY = CLOUD_KEY.public.hex()
FIGURES = {"report", "month", "year", "lifetime"}


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def report(*arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = run(*arguments, "--json")
    assert err == ""
    assert out.count("\n") == 1
    fields = json.loads(out)
    assert isinstance(fields, dict)
    return code, fields


def one_line(*arguments: object) -> str:
    """The complaint of a command that could not read what it was given."""
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("reverie-audit: ")
    return err


def written(path: Path, payloads: list[bytes]) -> Path:
    path.write_bytes(b"".join(payload + b"\n" for payload in payloads))
    return path


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    return written(tmp_path / "honest.jsonl", rich_ledger())


@pytest.fixture
def forged(tmp_path: Path) -> Path:
    payloads = rich_ledger()
    payloads[1] = edited(payloads[1], ("rho",), lambda value: value - 1)
    return written(tmp_path / "forged.jsonl", rechained(payloads))


# --- ledger


def test_ledger_of_an_honest_phone(honest: Path) -> None:
    code, out, _ = run("ledger", honest, "--cloud-key", KEY)
    assert code == 0
    assert "OK: the ledger is intact" in out
    assert "quarantined on 2026-04-26" in out
    code, fields = report("ledger", honest, "--cloud-key", KEY)
    assert code == 0
    assert (fields["sound"], fields["problems"], fields["notes"]) == (True, [], [])
    assert len(fields["charges"]) == 6
    assert {receipt["checked"] for receipt in fields["receipts"]} == {True}
    assert [stream["stream"] for stream in fields["streams"]] == ["counts", "models"]
    assert isinstance(fields["total"]["units"]["year"], int)
    assert fields["total"]["epsilon"].keys() == FIGURES


def test_ledger_without_a_key_says_that_receipts_were_not_checked(honest: Path) -> None:
    code, fields = report("ledger", honest)
    assert code == 0
    assert {receipt["checked"] for receipt in fields["receipts"]} == {False}
    assert "not checked" in run("ledger", honest)[1].replace("\n", " ")


def test_ledger_goes_red(honest: Path, forged: Path) -> None:
    code, out, _ = run("ledger", forged)
    assert code == 1
    assert "VIOLATION" in out
    assert "less than its noise costs" in out.replace("\n", " ")
    code, fields = report("ledger", forged)
    assert code == 1
    assert fields["sound"] is False
    assert fields["problems"][0].keys() == {"entry", "what"}
    assert run("ledger", honest, "--cloud-key", OTHER_KEY.public.hex())[0] == 1


def test_ledger_cross_check_asks_the_accountants(honest: Path, forged: Path) -> None:
    pytest.importorskip("dp_accounting")
    pytest.importorskip("opacus")
    code, fields = report("ledger", honest, "--cross-check")
    assert code == 0
    assert fields["cross_check"]["agree"] is True
    assert fields["cross_check"]["pld"] == pytest.approx(fields["lifetime"], rel=0.02)
    assert "cross_check" not in report("ledger", forged, "--cross-check")[1]


def test_ledger_goes_red_when_the_accountants_disagree(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dp_accounting")
    from privacy.audit import accountants

    monkeypatch.setattr(accountants.Accountants, "gaussian_pld", lambda self, noises, delta: 99.0)
    code, out, _ = run("ledger", honest, "--cross-check")
    assert code == 1
    assert "five accountants" in out
    assert "accountants disagree" in out


def test_ledger_writes_a_page_and_never_over_anything_else(honest: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("ledger", honest, "--html", page)[0] == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert run("ledger", honest, "--html", page)[0] == 0  # a newer one replaces it
    before = honest.read_bytes()
    assert "is no HTML page" in one_line("ledger", honest, "--html", honest)
    assert honest.read_bytes() == before
    assert "report.html" in one_line("ledger", honest, "--html", tmp_path / "no" / "report.html")


def test_export_makes_what_others_can_read(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, lambda path: MemoryLog(rich_ledger()))
    target = tmp_path / "copy.jsonl"
    assert run("ledger", tmp_path)[0] == 0
    assert report("export", tmp_path, target)[1] == {"entries": 16, "file": str(target)}
    assert target.read_bytes() == honest.read_bytes()
    assert "choose a new file" in one_line("export", tmp_path, target)


# --- bad input


def test_what_is_no_ledger_is_said_in_one_line(tmp_path: Path) -> None:
    assert "no such ledger" in one_line("ledger", tmp_path / "nowhere")
    one_line("ledger", tmp_path)  # a folder that is no phone's
    junk = tmp_path / "junk"
    junk.write_bytes(os.urandom(4096))
    assert "not a ledger" in one_line("ledger", junk)
    junk.write_bytes(b'{"name": "package", "version": 1}\n')
    assert "not a ledger" in one_line("explain", junk)
    junk.write_bytes(b"[" * 200_000)
    assert "not a ledger" in one_line("ledger", junk)
    with junk.open("wb") as file:
        file.truncate(openers.LARGEST_EXPORT + 1)
    assert "too large" in one_line("ledger", junk)
    assert "too large" in one_line("export", junk, tmp_path / "copy")


@pytest.mark.parametrize("key", ["zz", "12", "00" * 31, "0" * 63])
def test_a_key_that_is_none_is_said_in_one_line(honest: Path, key: str) -> None:
    assert "--cloud-key wants 64 hex digits" in one_line("ledger", honest, "--cloud-key", key)
    assert "--cloud-key wants" in one_line("explain", honest, "--cloud-key", key)
    assert "--helper-key wants" in one_line("fleet", "--cloud", honest, "--helper-key", key)


def test_a_mostly_damaged_ledger_is_a_violation_not_unreadable(tmp_path: Path) -> None:
    payloads = [b"\xff\x00"] * 20 + rich_ledger()[:1]
    assert run("ledger", written(tmp_path / "x", payloads))[0] == 1


def plant(
    monkeypatch: pytest.MonkeyPatch,
    *opened: Callable[[Any], Any],
    group: str = openers.OPENER_GROUP,
) -> None:
    """Register openers as packages would, in this order."""

    class Point(EntryPoint):
        def load(self) -> Any:
            found = opened[int(self.name)]
            if found is missing:
                raise ImportError("half installed")
            return found

    points = tuple(Point(str(index), "unused", group) for index in range(len(opened)))
    found = {group: points}
    monkeypatch.setattr(openers, "entry_points", lambda group: found.get(group, ()))


def missing(_path: Any) -> Any:
    raise AssertionError("never loaded")


def locked(_path: Any) -> Any:
    raise LedgerUnavailable("wrong passphrase")


def unreadable(_path: Any) -> Any:
    raise PermissionError("no")


class Broken(MemoryLog):
    def read(self) -> Any:
        raise RuntimeError("segment 3 does not authenticate")


def test_a_sealed_ledger_is_opened_by_its_own_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, missing, locked, unreadable, lambda path: MemoryLog(rich_ledger()))
    assert run("ledger", tmp_path)[0] == 0
    plant(monkeypatch, locked)
    assert one_line("ledger", tmp_path) == "reverie-audit: wrong passphrase\n"
    plant(monkeypatch, missing)
    assert "install reverie whole" in one_line("ledger", tmp_path)
    plant(monkeypatch, unreadable)
    assert "PermissionError" in one_line("ledger", tmp_path)
    plant(monkeypatch, lambda path: Broken())
    code, _, err = run("ledger", tmp_path)
    assert code == 1
    assert "VIOLATION" in err
    assert err.count("\n") == 1


# --- explain


def test_explain_speaks_both_languages(honest: Path) -> None:
    code, english, _ = run("explain", honest)
    assert code == 0
    assert "Whom you must trust" in english
    code, chinese, _ = run("explain", honest, "--language", "zh")
    assert code == 0
    assert "您需要信任谁" in chinese
    assert run("explain", honest, "--language", "fr")[0] == 2


def test_explain_gives_programs_the_figures(honest: Path, forged: Path) -> None:
    code, fields = report("explain", honest, "--language", "zh")
    assert code == 0
    assert (fields["language"], fields["sound"], fields["delta"]) == ("zh", True, 1e-6)
    assert fields["epsilon"].keys() == fields["epsilon_if_colluding"].keys() == FIGURES
    assert {section["key"] for section in fields["sections"]} >= {"left", "trust", "quarantine"}
    assert {each["stream"] for each in fields["remaining"]} == {"counts", "models"}
    code, fields = report("explain", forged)
    assert (code, fields["sound"]) == (1, False)
    assert "WARNING" in run("explain", forged)[1]


# --- fleet


def shown(**changes: Any) -> FleetEvidence:
    fields: dict[str, Any] = {
        "cloud_key": KEY, "budget": "production", "helper_signing_key": "", "rounds": (),
        "releases": (), "receipts": (),
    }  # fmt: skip
    return FleetEvidence(**(fields | changes))


def plant_fleet(monkeypatch: pytest.MonkeyPatch, evidence: object) -> None:
    plant(monkeypatch, lambda source: evidence, group=openers.FLEET_GROUP)


def test_fleet_compares_ledgers_both_ways(honest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = [
        bytes.fromhex(json.loads(payload)["blob"])
        for payload in rich_ledger()
        if b'"kind":"receipt"' in payload
    ]
    plant_fleet(monkeypatch, shown(receipts=tuple(blobs[:2])))
    code, fields = report("fleet", "--cloud", "cloud.db", "--ledger", honest)
    assert code == 1  # the quarantined phone has a receipt that this cloud never gave
    assert [finding["kind"] for finding in fields["findings"]] == ["forgotten"]
    assert fields["findings"][0].keys() == {"kind", "where", "what"}
    code, out, _ = run("fleet", "--cloud", "https://cloud.example", "--ledger", honest)
    assert code == 0  # a public page has no receipts to hold against it
    assert "OK: nothing contradicts" in out.replace("\n", " ")


def test_fleet_without_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_fleet(monkeypatch, shown())
    code, fields = report("fleet", "--cloud", "cloud.db")
    assert (code, fields["sound"], fields["findings"]) == (0, True, [])
    assert fields["verdict"].startswith("OK")


def test_fleet_shows_its_rounds_and_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dp_accounting")
    understated = replace(RELEASE, epsilon=4.0)
    plant_fleet(monkeypatch, shown(rounds=(usage_round(),), releases=(understated,)))
    code, out, _ = run("fleet", "--cloud", "cloud.db", "--helper-key", HELPER_KEY.hex())
    assert code == 1
    for said in ("usage", "valid", "router", "4.644", "VIOLATION: 1 finding in this fleet"):
        assert said in out


def test_fleet_that_cannot_be_read_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, group=openers.FLEET_GROUP)
    assert "install reverie whole" in one_line("fleet", "--cloud", "x")
    plant_fleet(monkeypatch, {"rounds": []})
    assert "no evidence" in one_line("fleet", "--cloud", "x")
    plant(monkeypatch, locked, group=openers.FLEET_GROUP)
    assert one_line("fleet", "--cloud", "x") == "reverie-audit: wrong passphrase\n"
    plant_fleet(monkeypatch, shown())
    assert "no such ledger" in one_line("fleet", "--cloud", "x", "--ledger", tmp_path / "none")


# --- mechanism


def plant_mechanisms(monkeypatch: pytest.MonkeyPatch, *, ok: bool) -> list[int]:
    seeds: list[int] = []

    def audit(names: list[str], *, seed: int, progress: Any) -> list[MechanismVerdict]:
        seeds.append(seed)
        verdicts = []
        for name in names:
            if progress is not None:
                progress(name)
            verdicts.append(MechanismVerdict(name, ok, 1.0, None, "exact", "[nothing] found"))
        return verdicts

    monkeypatch.setattr(mechanisms, "audit", audit)
    return seeds


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_mechanism_reports_and_exits(ok: bool, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = plant_mechanisms(monkeypatch, ok=ok)
    assert report("mechanism", "k-rr", "--seed", 7) == (
        code,
        {
            "mechanisms": [
                {
                    "name": "k-rr",
                    "ok": ok,
                    "epsilon_claimed": 1.0,
                    "epsilon_lower_bound": None,
                    "method": "exact",
                    "detail": "[nothing] found",
                }
            ]
        },
    )
    found, out, _ = run("mechanism", "all")
    assert found == code
    assert ("VIOLATION" in out) is not ok
    assert "[nothing]" in out
    assert all(name in out for name in mechanisms.NAMES)
    assert seeds[0] == 7


def test_an_unknown_mechanism_is_said_in_one_line() -> None:
    assert "k-rr" in one_line("mechanism", "telepathy")


def test_one_mechanism_is_really_audited() -> None:
    code, fields = report("mechanism", "rng")
    assert code == 0
    assert [(each["name"], each["ok"]) for each in fields["mechanisms"]] == [("rng", True)]


# --- all of them


@pytest.mark.parametrize("command", ["ledger", "explain", "fleet", "mechanism", "export"])
def test_every_command_shows_examples_and_has_json(command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Example" in out
    assert "--json" in out


def test_no_command_needs_the_accountants_to_start(honest: Path) -> None:
    """The audit of a ledger runs on a phone's own install."""
    code = (
        "import sys\n"
        "for name in ('torch', 'opacus', 'dp_accounting', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "from privacy.cli import main\n"
        f"sys.argv = ['reverie-audit', 'explain', {str(honest)!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert find(rich_ledger(), "quarantine") > 0
    assert "restored from an older copy" in done.stdout


def test_a_forged_ledger_is_told_apart_from_an_unreadable_one(tmp_path: Path) -> None:
    payloads = rich_ledger()
    payloads[-1] = edited(payloads[-1], ("sha256",), other_value)
    path = written(tmp_path / "x", payloads)
    assert run("ledger", path)[0] == 1
    assert run("explain", path)[0] == 1
    assert run("ledger", tmp_path / "y")[0] == 2
