"""Writes the plain manifests beside this file from the Helm chart: `python render.py [--check]`.

For clusters without Helm: `kubectl apply -n reverie -f cloud.yaml`. Settings are changed in the
chart's values and rendered again (`--values FILE --name NAME --out FILE`), not here. The templates
are run by Helm's own engine, which `pip install helm-python-sdk` brings. Exit codes: 0 written or
up to date, 1 stale (--check), 2 the chart or the values are refused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
CHART = HERE.parent / "helm" / "reverie"
RENDERED = {"cloud.yaml": "default-values.yaml", "helper.yaml": "helper-values.yaml"}
RELEASE = "reverie"
_HEAD = "# Rendered from deploy/helm/reverie by render.py: change the chart, not this file.\n"


def manifests(values: dict[str, Any], name: str = RELEASE, namespace: str = RELEASE) -> str:
    """Every object of a release as one YAML stream, in the order of the templates' names.

    Raises:
        helm_python.HelmError: a value is refused by the schema, or a template fails.
    """
    import helm_python

    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name=name, namespace=namespace)
    pieces = []
    for template, text in sorted(rendered.items()):
        if template.endswith(".yaml"):
            objects = [each for each in text.split("\n---\n") if _holds_something(each)]
            pieces += [each.strip("\n").removeprefix("---\n") + "\n" for each in objects]
    return "---\n".join(pieces)


def plain(values: dict[str, Any], name: str = RELEASE) -> str:
    """The same for `kubectl apply`, which no Helm manages."""
    text = manifests(values, name)
    return _HEAD + text.replace("managed-by: Helm", "managed-by: kubectl")


def _holds_something(text: str) -> bool:
    return any(document for document in yaml.safe_load_all(text))


def main() -> int:
    """Write or compare; see above for the exit codes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether they are up to date")
    parser.add_argument("--values", type=Path, help="render these values instead, to --out")
    parser.add_argument("--out", type=Path, help="where to; needs --values")
    parser.add_argument("--name", default=RELEASE, help="name of the release")
    options = parser.parse_args()
    try:
        from helm_python import HelmError
    except ModuleNotFoundError:
        sys.stderr.write("render: Helm's engine is missing: pip install helm-python-sdk\n")
        return 2
    jobs = {HERE / out: CHART / "ci" / values for out, values in RENDERED.items()}
    if options.values is not None:
        if options.out is None:
            parser.error("--values needs --out")
        jobs = {options.out: options.values}
    stale = []
    for out, file in jobs.items():
        try:
            text = plain(yaml.safe_load(file.read_text()) or {}, options.name)
        except (HelmError, OSError, yaml.YAMLError) as refused:
            reason = " ".join(str(refused).split())
            sys.stderr.write(f"render: {file}: {reason}\n")
            return 2
        if not options.check:
            out.write_text(text)
        elif not out.exists() or out.read_text() != text:
            stale.append(out.name)
    if stale:
        sys.stderr.write(f"render: {', '.join(stale)} differ from the chart: run render.py\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
