"""The Helm chart: taken by Helm and by Kubernetes' own schemas, closed where it should be."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cloud.serve import DRAIN_SECONDS
from tests.deploy.cluster.chart import CHART, VALUES, Pod, commands, objects, pods, render
from tests.deploy.cluster.flags import refusal
from tests.deploy.cluster.ray_facts import faults, faults_by_definition

KUBERNETES = ("1.29", "1.37")
"""The oldest the chart allows, and the newest whose schemas the package ships."""
FOREIGN = ("ray.io", "monitoring.coreos.com")
CLOUD = {"gateway", "ticker", "ray-head", "ray-worker"}
RAY = {"ticker", "ray-head", "ray-worker"}
CRD = os.environ.get("REVERIE_KUBERAY_CRD", "")


@cache
def _release(values: str) -> list[dict[str, Any]]:
    return objects(values)


def release(values: str) -> list[dict[str, Any]]:
    """A copy of a rendered release."""
    return copy.deepcopy(_release(values))


def of_kind(found: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in found if each["kind"] == kind}


def test_helm_has_no_fault_to_find() -> None:
    helm = pytest.importorskip("helm_python", reason="pip install helm-python-sdk")
    said = helm.lint(str(CHART))
    assert said["errors"] == []
    assert {each["error"] for each in said["messages"]} == {"icon is recommended"}


@pytest.mark.parametrize("values", VALUES)
def test_kubernetes_takes_every_object(values: str) -> None:
    check = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    checked = 0
    for each in release(values):
        if each["apiVersion"].startswith(FOREIGN):
            continue
        for version in KUBERNETES:
            check.validate(each, version, strict=True)
        checked += 1
    assert checked >= 5


def test_an_unknown_field_would_be_noticed() -> None:
    check = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    gateway = of_kind(release("default-values.yaml"), "Deployment")["reverie-gateway"]
    gateway["spec"]["template"]["spec"]["terminationGracePeriod"] = 40
    with pytest.raises(check.ValidationError):
        check.validate(gateway, KUBERNETES[-1], strict=True)


@pytest.mark.parametrize("values", VALUES)
def test_kuberay_takes_the_cluster(values: str) -> None:
    check = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    for cluster in of_kind(release(values), "RayCluster").values():
        assert faults(cluster) == []
        if CRD:
            assert faults_by_definition(cluster, Path(CRD).read_text()) == []
        spec = cluster["spec"]
        for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
            template = group["template"]
            pod = {"apiVersion": "v1", "kind": "Pod", **template}
            pod["metadata"] = {**template["metadata"], "name": "of-a-group"}
            for version in KUBERNETES:
                check.validate(pod, version, strict=True)


def test_a_field_that_kuberay_does_not_know_would_be_noticed() -> None:
    (cluster,) = of_kind(release("default-values.yaml"), "RayCluster").values()
    cluster["spec"]["upgradeStrategy"] = {"type": "NewCluster"}
    cluster["spec"]["headGroupSpec"]["rayStartParameters"] = {}
    assert len(faults(cluster)) == 2


def test_ray_asks_for_a_token_and_its_head_takes_no_work() -> None:
    (cluster,) = of_kind(release("default-values.yaml"), "RayCluster").values()
    spec = cluster["spec"]
    assert spec["authOptions"] == {"mode": "token", "secretName": "reverie-ray-token"}
    assert spec["upgradeStrategy"] == {"type": "Recreate"}
    head = spec["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert head["rayStartParams"]["include-dashboard"] == "false"
    # The name that processes join by is the one KubeRay gives the head's Service.
    ticker = pods(release("default-values.yaml"))["ticker"]
    address = f"{cluster['metadata']['name']}-head-svc:6379"
    assert f"--ray-address={address}" in ticker.spec["containers"][0]["args"]
    (node,) = ticker.spec["initContainers"]
    assert f"--address={address}" in node["args"]
    assert node["restartPolicy"] == "Always"
    # Found by trying: a node that cannot see the process that joins lets it not join.
    assert ticker.spec["shareProcessNamespace"] is True


def test_the_control_store_can_be_kept_in_redis() -> None:
    (cluster,) = of_kind(release("redis-values.yaml"), "RayCluster").values()
    options = cluster["spec"]["gcsFaultToleranceOptions"]
    assert options["redisAddress"] == "redis.data:6379"
    assert options["redisPassword"]["valueFrom"]["secretKeyRef"]["name"] == "reverie-redis"


@pytest.mark.parametrize("values", VALUES)
def test_no_pod_has_more_than_it_needs(values: str) -> None:
    for pod in pods(release(values)).values():
        spec = pod.spec
        assert spec["automountServiceAccountToken"] is False, pod.name
        assert spec["securityContext"]["runAsNonRoot"] is True, pod.name
        assert spec["securityContext"]["runAsUser"] > 0, pod.name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), pod.name
        for container in pod.containers:
            held = container["securityContext"]
            assert held["readOnlyRootFilesystem"] is True, pod.name
            assert held["allowPrivilegeEscalation"] is False, pod.name
            assert held["capabilities"] == {"drop": ["ALL"]}, pod.name
            for amounts in ("requests", "limits"):
                assert {"cpu", "memory"} <= set(container["resources"][amounts]), pod.name
            mounted = {each["mountPath"] for each in container["volumeMounts"]}
            assert "/tmp" in mounted, "what is written goes to a volume"


@pytest.mark.parametrize("values", VALUES)
def test_every_mount_has_its_volume(values: str) -> None:
    for owner in release(values):
        claims = owner.get("spec", {}).get("volumeClaimTemplates", [])
        for pod in pods([owner]).values():
            there = {each["name"] for each in pod.spec.get("volumes", [])}
            there |= {each["metadata"]["name"] for each in claims}
            used = {m["name"] for each in pod.containers for m in each["volumeMounts"]}
            assert used == there, pod.name


def test_only_who_signs_releases_has_their_keys() -> None:
    found = pods(release("default-values.yaml"))
    holders = {name for name, pod in found.items() if "role-keys" in _secrets(pod)}
    assert holders == {"ticker", "ray-worker"}
    assert {name for name, pod in found.items() if "tls" in _secrets(pod)} == {"gateway", "ticker"}
    # The certificate alone where an Ingress holds the key.
    behind = pods(release("ingress-values.yaml"))["gateway"]
    assert [each["path"] for each in _secrets(behind)["tls"]["items"]] == ["tls.crt"]


@pytest.mark.parametrize("values", VALUES)
def test_no_secret_is_a_value(values: str) -> None:
    found = release(values)
    assert of_kind(found, "Secret") == {}
    for pod in pods(found).values():
        for container in pod.containers:
            for variable in container.get("env", []):
                name = variable["name"]
                if name.endswith(("_KEY", "_KEY_ID", "_TOKEN", "_URL")) and "BLOBS" not in name:
                    assert "secretKeyRef" in variable.get("valueFrom", {}), name


@pytest.mark.parametrize("values", VALUES)
def test_the_programs_take_their_options(values: str) -> None:
    given = list(commands(release(values)))
    assert given
    for arguments in given:
        assert refusal("reverie-cloud", arguments) == ""


def test_an_option_that_does_not_exist_would_be_noticed() -> None:
    assert "--drain-second" in refusal("reverie-cloud", ["serve", "--drain-second=3"])
    assert refusal("reverie-cloud", ["serve", "--role=ticker"]) != ""
    assert refusal("reverie-cloud", ["served"]) != ""


@pytest.mark.parametrize("values", [each for each in VALUES if each != "helper-values.yaml"])
def test_pods_are_given_the_time_that_draining_takes(values: str) -> None:
    for name in ("gateway", "ticker"):
        pod = pods(release(values))[name]
        (container,) = pod.spec["containers"]
        (drain,) = [a for a in container["args"] if a.startswith("--drain-seconds=")]
        pause = int(
            container.get("lifecycle", {})
            .get("preStop", {})
            .get("exec", {})
            .get("command", ["sleep", "0"])[1]
        )
        takes = pause + float(drain.partition("=")[2])
        assert pod.spec["terminationGracePeriodSeconds"] >= takes + 10
        for probe in ("startupProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["path"] == "/healthz"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_default_drain_is_the_program_s_own() -> None:
    (container,) = pods(release("default-values.yaml"))["gateway"].spec["containers"]
    assert f"--drain-seconds={DRAIN_SECONDS:.0f}" in container["args"]


def test_ray_s_ports_are_closed_to_everyone_else() -> None:
    policies = of_kind(release("default-values.yaml"), "NetworkPolicy")
    assert {
        each["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for each in policies.values()
    } == CLOUD
    for component in ("ray-head", "ray-worker", "ticker"):
        spec = policies[f"reverie-{component}"]["spec"]
        (rule,) = spec["ingress"]
        (source,) = rule["from"]
        assert set(source) == {"podSelector"}, "pods of this namespace alone"
        (wanted,) = source["podSelector"]["matchExpressions"]
        assert set(wanted["values"]) == RAY
        assert source["podSelector"]["matchLabels"] == {"app.kubernetes.io/instance": "reverie"}
    (rule,) = policies["reverie-gateway"]["spec"]["ingress"]
    assert rule == {"ports": [{"port": "phones", "protocol": "TCP"}]}
    # No Service and no Ingress leads to Ray.
    for service in of_kind(release("default-values.yaml"), "Service").values():
        component = service["spec"]["selector"]["app.kubernetes.io/component"]
        assert component in {"gateway", "ticker"}


def test_policies_select_the_pods_they_are_for() -> None:
    found = release("redis-values.yaml")
    labels = [pod.labels for pod in pods(found).values()]
    for policy in of_kind(found, "NetworkPolicy").values():
        wanted = policy["spec"]["podSelector"]["matchLabels"].items()
        assert sum(wanted <= each.items() for each in labels) == 1
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_the_autoscaler_and_the_budget_mean_the_gateways() -> None:
    found = release("default-values.yaml")
    gateway = of_kind(found, "Deployment")["reverie-gateway"]
    assert "replicas" not in gateway["spec"], "the autoscaler's number would be put back"
    (scaler,) = of_kind(found, "HorizontalPodAutoscaler").values()
    assert scaler["spec"]["scaleTargetRef"]["name"] == "reverie-gateway"
    (budget,) = of_kind(found, "PodDisruptionBudget").values()
    assert budget["spec"]["selector"] == gateway["spec"]["selector"]
    fixed = of_kind(release("ingress-values.yaml"), "Deployment")["reverie-gateway"]
    assert fixed["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"cloud": {"budget": "none"}}, "budget"),
        ({"cloud": {"intakeShards": 65}}, "intakeShards"),
        ({"tls": {"mode": "none"}}, "mode"),
        ({"database": {"secret": "Not A Name"}}, "secret"),
        ({"ray": {"gcsFaultTolerance": {"enabled": True}}}, "redisAddress"),
        ({"gatway": {}}, "gatway"),
        ({"image": {"digest": "sha256:short"}}, "digest"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: dict[str, Any], named: str) -> None:
    helm = pytest.importorskip("helm_python", reason="pip install helm-python-sdk")
    with pytest.raises(helm.HelmError, match=named):
        objects(values)


def test_the_plain_manifests_are_the_chart_s() -> None:
    module = render()
    for name, values in module.RENDERED.items():
        text = (module.HERE / name).read_text()
        wanted = (CHART / "ci" / values).read_text()
        fresh = module.plain(module.yaml.safe_load(wanted) or {})
        assert text == fresh, f"{name} is stale: python deploy/kubernetes/render.py"


def test_the_script_says_in_one_line_what_it_refuses(tmp_path: Path) -> None:
    pytest.importorskip("helm_python", reason="pip install helm-python-sdk")
    wrong, out = tmp_path / "wrong.yaml", tmp_path / "out.yaml"
    wrong.write_text("cloud: {budget: none}\n")
    script = [sys.executable, str(render().HERE / "render.py")]
    refused = subprocess.run(
        [*script, "--values", str(wrong), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "/cloud/budget" in refused.stderr
    assert not out.exists()
    fresh = subprocess.run([*script, "--check"], capture_output=True, text=True, check=False)
    assert (fresh.returncode, fresh.stderr) == (0, "")


def _secrets(pod: Pod) -> dict[str, Any]:
    return {each["name"]: each["secret"] for each in pod.spec["volumes"] if "secret" in each}
