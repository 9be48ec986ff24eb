"""The fields of a RayCluster (ray.io/v1, KubeRay 1.6 and 1.7) that the chart may use, as facts.

The operator's own definition is not on any package registry, so these are written down here; set
REVERIE_KUBERAY_CRD to its `ray.io_rayclusters.yaml` and the tests hold the chart against that too.
"""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import yaml  # type: ignore[import-untyped]

__all__ = ["faults", "faults_by_definition"]

_CREDENTIAL = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"value": {"type": "string"}, "valueFrom": {"type": "object"}},
}
_PARAMETERS = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0}
_TEMPLATE = {"type": "object", "required": ["spec"]}


def _object(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


_CLUSTER = _object(
    ["headGroupSpec"],
    {
        "rayVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "enableInTreeAutoscaling": {"type": "boolean"},
        "upgradeStrategy": _object([], {"type": {"enum": ["Recreate", "None"]}}),
        "authOptions": _object(
            [],
            {"mode": {"enum": ["disabled", "token"]}, "secretName": {"type": "string"}},
        ),
        "gcsFaultToleranceOptions": _object(
            [],
            {
                "backend": {"enum": ["redis", "rocksdb"]},
                "redisAddress": {"type": "string"},
                "redisUsername": _CREDENTIAL,
                "redisPassword": _CREDENTIAL,
                "externalStorageNamespace": {"type": "string"},
            },
        ),
        "headGroupSpec": _object(
            ["template", "rayStartParams"],
            {
                "template": _TEMPLATE,
                "rayStartParams": _PARAMETERS,
                "serviceType": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
            },
        ),
        "workerGroupSpecs": {
            "type": "array",
            "items": _object(
                ["groupName", "template"],
                {
                    "groupName": {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
                    "replicas": _COUNT,
                    "minReplicas": _COUNT,
                    "maxReplicas": _COUNT,
                    "rayStartParams": _PARAMETERS,
                    "template": _TEMPLATE,
                },
            ),
        },
    },
)


def faults(cluster: dict[str, Any]) -> list[str]:
    """What of a RayCluster's spec is no field of it, or has a value it does not take."""
    return _faults(_CLUSTER, cluster["spec"])


def faults_by_definition(cluster: dict[str, Any], definition: str) -> list[str]:
    """The same by the operator's own definition (YAML); unknown fields are faults."""
    versions = yaml.safe_load(definition)["spec"]["versions"]
    (schema,) = [v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == "v1"]
    spec = schema["properties"]["spec"]
    _forbid_unknown(spec)
    return _faults(spec, cluster["spec"])


def _faults(schema: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    found = jsonschema.Draft202012Validator(schema).iter_errors(spec)
    return [f"{'/'.join(map(str, each.path))}: {each.message[:200]}" for each in found]


def _forbid_unknown(node: Any) -> None:
    if isinstance(node, list):
        for each in node:
            _forbid_unknown(each)
    elif isinstance(node, dict):
        if node.get("x-kubernetes-int-or-string"):
            node.pop("type", None)
        if node.get("type") == "object" and "properties" in node:
            node.setdefault("additionalProperties", False)
        for each in list(node.values()):
            _forbid_unknown(each)
