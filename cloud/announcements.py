"""What a started process says to its operator, once, on the terminal."""

from __future__ import annotations

from cloud.console import out
from cloud.serve import HelperListening, Listening

__all__ = ["tell_cloud", "tell_helper"]

_STOPS = "Ctrl-C stops it."
_NOT_PRIVATE = "[bold red]The demo budget is not private.[/]"


def tell_cloud(
    listening: Listening, budget: str, aggregation: str, helper_url: str | None, role: str = "all"
) -> None:
    """The cloud's address, keys, and who must be trusted for its rounds to be private."""
    _line("cloud", listening.url)
    _line("public key", listening.public_key)
    if role == "gateway":
        _line("role", "gateway: the processes of role all hand out tokens and move rounds on")
        out.print(_STOPS)
        return
    _line("token", f"{listening.token}  (enrols one phone, once)")
    _line("admin", f"{listening.url}/admin/  (let yourself in: reverie-cloud operator add NAME)")
    if aggregation == "local":
        _line("aggregation", "local: no helper, every phone protects its own answer; counts only")
    else:
        whose = "in this process" if helper_url is None else f"of another operator, {helper_url}"
        _line("aggregation", f"two servers, helper {whose}")
        _line("helper key", listening.helper_signing_key)
    if budget == "demo":
        out.print(_NOT_PRIVATE)
    if aggregation == "two-server" and helper_url is None:
        out.print(
            "[yellow]The helper runs in this process: one operator holding both halves of the "
            "aggregation gives no gain in trust. Use --helper URL for a second operator's.[/]"
        )
    out.print(_STOPS)


def tell_helper(listening: HelperListening) -> None:
    """The helper's address, keys, floors, and where the token for its leader lies."""
    _line("helper", listening.url)
    _line("public key", listening.public_key)
    _line("signs with", listening.signing_public_key)
    _line("floors", f"those of the {listening.budget} budget")
    _line("token file", f"{listening.token_file}  (hand it to the leader's operator, privately)")
    if listening.budget == "demo":
        out.print(_NOT_PRIVATE)
    out.print(_STOPS)


def _line(name: str, value: str) -> None:
    out.print(f"{name:<12}{value}", highlight=False, markup=False, soft_wrap=True)
