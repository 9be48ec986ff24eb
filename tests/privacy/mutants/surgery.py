"""Cutting into the real product: replace a function wherever it is bound, or edit its source."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

__all__ = ["Mutant", "edit", "rebind"]

Operation = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutant:
    """One fault. ``red``: the audits that must turn red; ``finds``: what each must say.

    ``samples``: size of the samples, of the full audit's; just enough for the fault to show.
    """

    name: str
    operate: Operation
    red: tuple[str, ...]
    finds: str
    samples: float = 0.05


def rebind(patch: pytest.MonkeyPatch, original: object, replacement: object) -> None:
    """Replace ``original`` in every loaded module of the product that has bound it to a name."""
    found = False
    for name, module in list(sys.modules.items()):
        if name == "privacy" or name.startswith("privacy."):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    patch.setattr(module, attribute, replacement)
                    found = True
    assert found, "the mutant no longer applies: the function is bound nowhere"


def edit(patch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Re-make a function or method of ``owner`` (module or class) with ``old`` read as ``new``.

    ``old`` must stand in its source exactly once, so a mutant that no longer applies says so.
    """
    function = inspect.getattr_static(owner, name)
    static = isinstance(function, staticmethod)
    function = function.__func__ if static else function
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"the mutant no longer applies to {name}"
    namespace = vars(sys.modules[function.__module__])
    scope: dict[str, Any] = {}
    code = "from __future__ import annotations\n" + source.replace(old, new)
    exec(compile(code, f"<mutant of {name}>", "exec"), namespace, scope)
    if inspect.ismodule(owner):
        rebind(patch, function, scope[name])
    else:
        patch.setattr(owner, name, staticmethod(scope[name]) if static else scope[name])
