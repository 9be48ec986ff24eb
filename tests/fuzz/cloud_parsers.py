"""What the cloud reads beside the sync protocol: operators' forms, cookies, cursors and files."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import numpy as np
from pydantic import ValidationError
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

from cloud.admin.api import BODIES
from cloud.admin.entry import Entry
from cloud.admin.operators import Operator
from cloud.admin.visits import BadForm, fields_of
from cloud.admin.words import preferred
from cloud.storage import facts
from cloud.storage.tables import CLOUD
from cloud.training.corpora.contributed import CorpusRefused, read_line
from cloud.training.optimiser_state import StateInvalid, decode_state, encode_state
from cloud.training.optimisers import OptimiserState
from tests.fuzz.harness import Parser
from tests.protocol.samples import bits, generator

__all__ = ["PARSERS"]

NOW = 1_800_000_000.0
DIMENSION = 12
_ENTRY = Entry(bytes(32), bits(61))
_OPERATOR = Operator("ana", "operator", "0" * 64, NOW - 1.0, NOW + 86_400.0, None)


def _states() -> list[bytes]:
    rng = generator(62)
    vectors = [np.abs(rng.normal(size=DIMENSION)) for _ in range(3)]
    state = OptimiserState("fedadam", 3, vectors[0], vectors[1], 0.1, 0.2, vectors[2])
    return [encode_state(state)]


def _cookie(data: bytes) -> object:
    """As a header has it: any character up to 255, and halves of what was no UTF-8."""
    said = _ENTRY.read(data.decode("utf-8", "surrogateescape"), NOW)
    return None if said is None else _ENTRY.admit(said, _OPERATOR, NOW)


def _bodies(data: bytes) -> object:
    """Every body that an operator's program may send, and the refusal of the last."""
    refused: ValidationError | None = None
    for kind in BODIES:
        try:
            kind.model_validate_json(data)
        except ValidationError as error:
            refused = error
        else:
            return kind
    assert refused is not None
    raise refused


def _database() -> Connection:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    CLOUD.create_all(engine)
    return engine.connect()


_CONNECTION = _database()


def _cursor(page: Callable[[Connection, str, int], facts.Page]) -> Callable[[bytes], object]:
    return lambda data: page(_CONNECTION, data.decode("utf-8", "replace"), 5)


_LINE = (
    b'{"contributor": "ana", "texts": ["when is my dentist?"], "labels": ["structured"],'
    b' "language": "en"}'
)
_PAIR = b'{"contributor": "bo", "texts": ["a cat", "the cat"], "labels": ["%s"], "language": "zh"}'

PARSERS: tuple[Parser, ...] = (
    Parser(
        "optimiser_state.decode_state",
        lambda blob: decode_state(blob, DIMENSION),
        (StateInvalid,),
        _states(),
    ),
    Parser(
        "contributed.read_line",
        lambda raw: read_line(raw, "line 1"),
        (CorpusRefused,),
        [_LINE, _PAIR % b"duplicate", _PAIR % b"merge"],
        "json",
    ),
    Parser("admin.cookie", _cookie, (), [_ENTRY.cookie(_OPERATOR, NOW).encode()], "text"),
    Parser(
        "admin.form",
        fields_of,
        (BadForm,),
        [urlencode({"csrf": "0" * 64, "token": "f" * 64}).encode(), b"version=3&days=7.5&x="],
        "text",
    ),
    Parser(
        "admin.bodies",
        _bodies,
        (ValidationError,),
        [b'{"model": "router", "version": 3}', b'{"device_id": "0f"}', b'{"days": 7.0}'],
        "json",
    ),
    Parser(
        "admin.preferred",
        lambda data: preferred(data.decode("utf-8", "surrogateescape")),
        (),
        [b"zh-CN,zh;q=0.9,en;q=0.8"],
        "text",
    ),
    Parser(
        "facts.rounds_page",
        _cursor(facts.rounds_page),
        (ValueError,),
        [b"1800000000.0:usage:7"],
        "text",
        weight=0.3,
    ),
    Parser("facts.events_page", _cursor(facts.events_page), (ValueError,), [b"17"], "text", 0.3),
    Parser(
        "facts.devices_page", _cursor(facts.devices_page), (ValueError,), [b"0f" * 16], "text", 0.3
    ),
)
