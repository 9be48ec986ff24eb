"""Alert rules and the dashboard ask only for what a running cloud really exports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml  # type: ignore[import-untyped]

from cloud.gateway.metrics import Metrics
from protocol.errors import RefusalCode
from tests.cloud.processes import running_process
from tests.deploy.cluster.chart import CHART, DEPLOY, objects

NAME = re.compile(r"\b(?:reverie|process)_[a-z_]+\b")
TYPE = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)(?:!|=)?[=~]"([^"]*)"')
OF_A_HISTOGRAM = ("_bucket", "_sum", "_count")


def alerts() -> list[dict[str, Any]]:
    """Every rule of the file that the chart and compose share."""
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels that show something."""
    board = json.loads((CHART / "files" / "dashboard.json").read_text())
    return [each for each in board["panels"] if each["type"] != "row"]


def expressions() -> dict[str, str]:
    """Every query, by where it stands."""
    found = {f"alert {rule['alert']}": str(rule["expr"]) for rule in alerts()}
    for panel in panels():
        for target in panel["targets"]:
            found[f"panel {panel['title']} {target['refId']}"] = target["expr"]
    return found


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in the answer of a real `/metrics`."""
    state = str(tmp_path_factory.mktemp("metrics") / "cloud")
    options = ["--state", state, "--port", "0", "--budget", "demo", "--aggregation", "local"]
    with running_process("serve", *options, "--tick-seconds", "3600") as process:
        text = _fetched(f"{process.said['url']}/metrics")
    names = set()
    for name, kind in TYPE.findall(text):
        names |= {name + end for end in OF_A_HISTOGRAM} if kind == "histogram" else {name}
    return names


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def test_every_metric_that_is_asked_for_is_exported(exported: set[str]) -> None:
    asked = {name: where for where, text in expressions().items() for name in NAME.findall(text)}
    assert len(asked) > 25
    assert {name: where for name, where in asked.items() if name not in exported} == {}


def test_every_metric_of_ours_is_shown_or_watched(exported: set[str]) -> None:
    """A counter that nobody looks at is a question that nobody asks."""
    asked = {name for text in expressions().values() for name in NAME.findall(text)}
    stems = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    ours = {re.sub(r"_(bucket|sum|count)$", "", n) for n in exported if n.startswith("reverie_")}
    unseen = {name for name in ours - stems if not name.endswith("_created")}
    # The same as reverie_ticking, from before there was a lease.
    assert unseen == {"reverie_tick_leader"}


def test_labels_are_the_program_s_own() -> None:
    families = {each.name: each for each in Metrics()._registry.collect()}
    assert "reverie_refusals" in families
    codes = dict(LABEL.findall(" ".join(e for e in expressions().values() if "refusals" in e)))
    assert set(codes) == {"code"}
    for text in expressions().values():
        for code in re.findall(r'refusals_total\{code=~?"([^"]*)"', text):
            wanted = re.compile(code)
            assert any(wanted.fullmatch(each) for each in get_args(RefusalCode)), code


@pytest.mark.parametrize("where", expressions())
def test_queries_are_promql(where: str) -> None:
    parser = pytest.importorskip("promql_parser", reason="pip install promql-parser")
    assert parser.parse(expressions()[where]) is not None


def test_a_broken_query_would_be_noticed() -> None:
    parser = pytest.importorskip("promql_parser", reason="pip install promql-parser")
    with pytest.raises(ValueError, match="unclosed"):
        parser.parse("sum(rate(reverie_sessions_total[5m])")


def test_every_alert_says_what_to_do() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names)) >= 10
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def test_panels_lie_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    board = json.loads((CHART / "files" / "dashboard.json").read_text())
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_chart_hands_both_out_unchanged() -> None:
    found = {each["kind"]: each for each in objects("ingress-values.yaml")}
    groups = found["PrometheusRule"]["spec"]["groups"]
    assert [rule for group in groups for rule in group["rules"]] == alerts()
    shipped = json.loads(found["ConfigMap"]["data"]["reverie.json"])
    assert shipped == json.loads((CHART / "files" / "dashboard.json").read_text())
    (endpoint,) = found["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["path"] == "/metrics"
    assert endpoint["authorization"]["credentials"] == {
        "name": "reverie-metrics-token",
        "key": "token",
    }
    ports = {p["name"] for p in found["Service"]["spec"]["ports"]}
    assert endpoint["port"] in ports


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """Compose's configuration of Prometheus, its rules and its token where this test has them."""
    text = (DEPLOY / "compose" / "prometheus.yaml").read_text()
    token = tmp_path / "token"
    token.write_text("none")
    text = text.replace("/etc/prometheus/alerts.yaml", str(CHART / "files" / "alerts.yaml"))
    file = tmp_path / "prometheus.yaml"
    file.write_text(text.replace("/run/secrets/metrics_token", str(token)))
    return file


@pytest.mark.skipif(shutil.which("promtool") is None, reason="apt-get install prometheus")
def test_prometheus_takes_rules_and_configuration(configuration: Path) -> None:
    done = subprocess.run(
        ["promtool", "check", "config", str(configuration)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
