"""Round descriptors and the uplink format."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.errors import ReportInvalid, SignatureInvalid
from protocol.messages import MAX_DESCRIPTOR, MAX_UPLOAD
from protocol.rounds import (
    TASKS,
    LocalRound,
    RoundDescriptor,
    Task,
    open_descriptor,
    seal_descriptor,
)
from protocol.update import MAX_REPORT, MAX_SHARE, Report, decode_report, encode_report
from tests.protocol.samples import CLOUD_KEY, bits

FIELDS: dict[str, Any] = {
    "task": "usage",
    "round": 3,
    "dimension": 30,
    "scale": 1024,
    "clip": math.sqrt(8),
    "sigma": 18.8,
    "n_min": 100,
    "base_version": 0,
    "helper_key": bytes(32),
    "opens": 1000.0,
    "closes": 2000.0,
    "budget": "production",
}


LOCAL: dict[str, Any] = {
    "round": 3,
    "histogram": "language",
    "epsilon": 0.5,
    "n_min": 100,
    "opens": 1000.0,
    "closes": 2000.0,
    "budget": "production",
}


@pytest.mark.parametrize("descriptor", [RoundDescriptor(**FIELDS), LocalRound(**LOCAL)])
def test_a_descriptor_travels_signed(descriptor: RoundDescriptor | LocalRound) -> None:
    blob = seal_descriptor(descriptor, CLOUD_KEY)
    assert len(blob) <= MAX_DESCRIPTOR
    assert open_descriptor(blob, CLOUD_KEY.public) == descriptor
    with pytest.raises(SignatureInvalid):
        open_descriptor(blob, bytes(32))
    with pytest.raises(SignatureInvalid):
        open_descriptor(blob[:-1] + b"\x00", CLOUD_KEY.public)


@pytest.mark.parametrize(
    "change",
    [
        {"round": 0},
        {"dimension": 65_537},
        {"sigma": 0.0},
        {"sigma": float("nan")},
        {"clip": float("inf")},
        {"n_min": 0},
        {"helper_key": bytes(31)},
        {"closes": 1000.0},
        {"budget": "none"},
        {"task": "spy"},
        {"task": "local_usage"},
        {"extra": 1},
    ],
)
def test_a_descriptor_out_of_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RoundDescriptor(**(FIELDS | change))


@pytest.mark.parametrize(
    "change",
    [
        {"round": 0},
        {"epsilon": 0.0},
        {"epsilon": float("inf")},
        {"histogram": ""},
        {"histogram": "h" * 65},
        {"n_min": 0},
        {"closes": 1000.0},
        {"budget": "none"},
        {"task": "usage"},
        {"sigma": 1.0},
    ],
)
def test_a_local_round_out_of_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LocalRound(**(LOCAL | change))


def test_the_numbers_of_tasks_in_a_report_never_change() -> None:
    assert TASKS == ("usage", "router", "dedup", "local_usage")


@given(
    st.sampled_from(TASKS),
    st.integers(1, 2**53),
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=1, max_size=200),
    st.binary(max_size=256),
)
def test_reports_survive_coding(
    task: Task, round_: int, report_id: bytes, share: bytes, seed: bytes
) -> None:
    report = Report(task, round_, report_id, share, seed)
    assert decode_report(encode_report(report)) == report


def example() -> Report:
    return Report("router", 7, bits(1)(16), bits(5)(160), bits(2)(92))


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_garbage_is_no_report(data: bytes) -> None:
    with pytest.raises(ReportInvalid):
        decode_report(b"RVR2" + data)
    with pytest.raises(ReportInvalid):
        decode_report(data)


def test_a_report_of_the_older_format_is_refused() -> None:
    with pytest.raises(ReportInvalid, match="format"):
        decode_report(b"RVR1" + encode_report(example())[4:])


@settings(max_examples=300)
@case(place=33, change=1, cut=1)
@given(st.integers(0, 10**6), st.integers(1, 255), st.integers(-3, 3))
def test_whatever_decodes_is_the_one_encoding_of_what_it_says(
    place: int, change: int, cut: int
) -> None:
    data = bytearray(encode_report(example()))
    data[place % len(data)] ^= change
    data = data[:cut] if cut < 0 else data + bytes(cut)
    try:
        decoded = decode_report(bytes(data))
    except ReportInvalid:
        return
    # A changed length field may agree with a changed length: then that is another whole report.
    assert encode_report(decoded) == bytes(data)


def test_shares_are_bounded() -> None:
    data = encode_report(example())
    assert len(decode_report(data, max_share=160).share) == 160
    with pytest.raises(ReportInvalid):
        decode_report(data, max_share=159)
    largest = Report("dedup", 1, bytes(16), bytes(MAX_SHARE), bytes(256))
    assert len(encode_report(largest)) == MAX_REPORT <= MAX_UPLOAD
    with pytest.raises(ReportInvalid):
        decode_report(encode_report(largest) + b"\0")


def test_a_wrong_report_is_not_encoded() -> None:
    good = example()
    for share in (b"", bytes(MAX_SHARE + 1), bytearray(3)):
        with pytest.raises(ReportInvalid):
            encode_report(Report("router", 1, bytes(16), share, b""))  # type: ignore[arg-type]
    with pytest.raises(ReportInvalid):
        encode_report(Report("spy", 1, bytes(16), good.share, b""))  # type: ignore[arg-type]
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 1, bytes(15), good.share, b""))
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 0, bytes(16), good.share, b""))
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 1, bytes(16), good.share, bytes(257)))
