"""Round descriptors and the uplink format."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.errors import ReportInvalid, SignatureInvalid
from protocol.messages import MAX_DESCRIPTOR, MAX_UPLOAD
from protocol.rounds import TASKS, RoundDescriptor, Task, open_descriptor, seal_descriptor
from protocol.update import MAX_REPORT, Report, decode_report, encode_report
from tests.protocol.samples import CLOUD_KEY, bits, generator

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


def test_a_descriptor_travels_signed() -> None:
    descriptor = RoundDescriptor(**FIELDS)
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
        {"extra": 1},
    ],
)
def test_a_descriptor_out_of_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RoundDescriptor(**(FIELDS | change))


@given(
    st.sampled_from(TASKS),
    st.integers(1, 2**53),
    st.binary(min_size=16, max_size=16),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50),
    st.binary(max_size=256),
)
def test_reports_survive_coding(
    task: Task, round_: int, report_id: bytes, values: list[int], seed: bytes
) -> None:
    report = Report(task, round_, report_id, np.array(values, dtype=np.uint32), seed)
    decoded = decode_report(encode_report(report))
    assert (decoded.task, decoded.round, decoded.report_id) == (task, round_, report_id)
    assert decoded.sealed_seed == seed
    assert decoded.masked.dtype == np.uint32
    assert decoded.masked.tolist() == values


def example() -> Report:
    masked = generator(5).integers(0, 2**32, 40, dtype=np.uint32)
    return Report("router", 7, bits(1)(16), masked, bits(2)(92))


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_garbage_is_no_report(data: bytes) -> None:
    with pytest.raises(ReportInvalid):
        decode_report(b"RVR1" + data)
    with pytest.raises(ReportInvalid):
        decode_report(data)


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


def test_dimensions_are_bounded() -> None:
    data = encode_report(example())
    assert decode_report(data, max_dimension=40).masked.size == 40
    with pytest.raises(ReportInvalid):
        decode_report(data, max_dimension=39)
    largest = Report("dedup", 1, bytes(16), np.zeros(65_536, np.uint32), bytes(256))
    assert len(encode_report(largest)) == MAX_REPORT <= MAX_UPLOAD


def test_a_wrong_report_is_not_encoded() -> None:
    good = example()
    for masked in (np.zeros(3), np.zeros((2, 2), np.uint32), np.zeros(0, np.uint32)):
        with pytest.raises(ReportInvalid):
            encode_report(Report("router", 1, bytes(16), masked, b""))  # type: ignore[arg-type]
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 1, bytes(15), good.masked, b""))
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 0, bytes(16), good.masked, b""))
    with pytest.raises(ReportInvalid):
        encode_report(Report("router", 1, bytes(16), good.masked, bytes(257)))
