"""The Helm chart rendered by Helm's own engine, and what its objects hold."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

__all__ = [
    "CHART",
    "DEPLOY",
    "VALUES",
    "Pod",
    "commands",
    "objects",
    "pods",
    "render",
]

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
CHART = DEPLOY / "helm" / "reverie"
VALUES = sorted(each.name for each in (CHART / "ci").glob("*.yaml"))
Object = dict[str, Any]


def render() -> ModuleType:
    """The script that renders the chart; deploy/ holds no package, so it is loaded by its path."""
    pytest.importorskip("helm_python", reason="Helm's engine: pip install helm-python-sdk")
    place = DEPLOY / "kubernetes" / "render.py"
    spec = importlib.util.spec_from_file_location("render_chart", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def objects(values: str | Object) -> list[Object]:
    """Every object of a release with these values: a file of ci/, or the values themselves."""
    if isinstance(values, str):
        values = yaml.safe_load((CHART / "ci" / values).read_text()) or {}
    return [each for each in yaml.safe_load_all(render().manifests(values)) if each]


class Pod:
    """One pod template, whatever object it belongs to."""

    def __init__(self, owner: Object, template: Object) -> None:
        self.name = (
            f"{owner['kind']}/{template['metadata']['labels']['app.kubernetes.io/component']}"
        )
        self.labels: dict[str, str] = template["metadata"]["labels"]
        self.spec: Object = template["spec"]

    @property
    def containers(self) -> list[Object]:
        """All of them, those that start first too."""
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    def component(self) -> str:
        """Which part of a cloud it is."""
        return self.labels["app.kubernetes.io/component"]


def pods(release: list[Object]) -> dict[str, Pod]:
    """The pod templates of a release by component."""
    found = [Pod(owner, template) for owner in release for template in _templates(owner)]
    return {each.component(): each for each in found}


def commands(release: list[Object]) -> Iterator[list[str]]:
    """What the containers of a release give to `reverie-cloud`."""
    for pod in pods(release).values():
        for container in pod.containers:
            if "args" in container and "command" not in container:
                yield [str(each) for each in container["args"]]


def _templates(owner: Object) -> list[Object]:
    spec = owner.get("spec", {})
    if owner["kind"] == "RayCluster":
        groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
        return [each["template"] for each in groups]
    return [spec["template"]] if "template" in spec else []
