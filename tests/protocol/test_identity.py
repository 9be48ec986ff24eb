"""Keys, proofs and envelopes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import SignatureInvalid
from protocol.identity import (
    DeviceKey,
    open_envelope,
    proof_transcript,
    signed_envelope,
    verify,
)
from tests.protocol.samples import CLOUD_KEY, bits


def test_a_key_comes_only_from_the_given_bits() -> None:
    assert DeviceKey.generate(bits(1)).public == DeviceKey.generate(bits(1)).public
    assert DeviceKey.generate(bits(1)).public != DeviceKey.generate(bits(2)).public
    key = DeviceKey.generate(bits(3))
    assert DeviceKey(key.seed).public == key.public
    assert key.seed.hex() not in repr(key)


def test_rfc_8032_vector_one() -> None:
    key = DeviceKey(
        bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    )
    assert key.public.hex().startswith("d75a980182b10ab7d54bfed3c964073a")
    assert key.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a")


def test_verify_refuses_other_keys_messages_and_garbage() -> None:
    key, other = DeviceKey.generate(bits(1)), DeviceKey.generate(bits(2))
    signature = key.sign(b"hello")
    verify(key.public, signature, b"hello")
    wrong = [
        (other.public, signature, b"hello"),
        (key.public, signature, b"hallo"),
        (key.public, b"", b"hello"),
        (b"short", signature, b"hello"),
    ]
    for public, sign, message in wrong:
        with pytest.raises(SignatureInvalid):
            verify(public, sign, message)


@given(st.text(max_size=10), st.text(max_size=10), st.binary(max_size=8), st.binary(max_size=8))
def test_transcripts_of_different_fields_differ(
    device: str, other: str, nonce: bytes, server: bytes
) -> None:
    transcript = proof_transcript(1, device, nonce, server)
    assert (proof_transcript(1, other, nonce, server) == transcript) == (device == other)
    assert proof_transcript(2, device, nonce, server) != transcript
    assert (proof_transcript(1, device, server, nonce) == transcript) == (nonce == server)


@given(st.binary(max_size=200), st.integers(0, 10_000), st.integers(1, 255))
def test_no_changed_byte_of_an_envelope_gives_another_payload(
    payload: bytes, place: int, change: int
) -> None:
    envelope = bytearray(signed_envelope(payload, CLOUD_KEY, purpose="p"))
    assert open_envelope(bytes(envelope), CLOUD_KEY.public, purpose="p") == payload
    envelope[place % len(envelope)] ^= change
    with pytest.raises(SignatureInvalid):
        open_envelope(bytes(envelope), CLOUD_KEY.public, purpose="p")


def test_an_envelope_serves_only_its_purpose_and_key() -> None:
    envelope = signed_envelope(b"x", CLOUD_KEY, purpose="round")
    with pytest.raises(SignatureInvalid):
        open_envelope(envelope, CLOUD_KEY.public, purpose="release")
    with pytest.raises(SignatureInvalid):
        open_envelope(envelope, DeviceKey.generate(bits(1)).public, purpose="round")


@given(st.binary(max_size=100))
def test_garbage_is_no_envelope(data: bytes) -> None:
    with pytest.raises(SignatureInvalid):
        open_envelope(data, CLOUD_KEY.public)
