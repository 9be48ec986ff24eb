"""A code lets one device in, once, and soon; the mailbox that carries it learns nothing."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from device.account.counting import Received
from device.account.errors import CodeUnusable
from device.account.pairing import BITS, CODE_SECONDS, MAX_TRIES, Code, Offer, Request, Welcome
from device.account.roster import Member, Roster, device_id_of
from device.account.sealing import Epoch
from protocol.identity import SigningKey
from protocol.mail import Letter, read_letter

NOW = 1000.0
CODES = st.integers(0, (1 << BITS) - 1).map(Code)


def member(name: str) -> Member:
    box = X25519PrivateKey.generate().public_key().public_bytes_raw()
    sign = SigningKey.generate(os.urandom).public
    return Member(device_id_of(sign), sign, box, name)


OLD, NEW = member("phone"), member("tablet")


def offer(code: Code | None = None) -> Offer:
    return Offer(code or Code.fresh(os.urandom), OLD.device, NOW + CODE_SECONDS, os.urandom)


def welcome() -> Welcome:
    epoch = Epoch.fresh(4, [OLD.device, NEW.device], os.urandom)
    return Welcome(b"A" * 16, epoch, Roster([OLD, NEW]), {OLD.device: Received(7)})


def test_both_sides_end_with_the_same_and_see_the_same() -> None:
    shown = offer()
    request = Request(Code.read(str(shown.code)), NEW, os.urandom)
    assert shown.admit(read_letter(shown.opening()), NOW) is None
    admission = shown.admit(read_letter(request.letter), NOW)
    assert admission is not None
    assert admission.member == NEW
    given_ = welcome()
    letter, fingerprint = shown.answer(admission, given_)
    got = request.welcome(read_letter(letter))
    assert got == (given_, fingerprint)
    # Neither letter says anything in clear but who wrote it.
    for sent in (request.letter, letter):
        assert b"tablet" not in sent
        assert given_.epoch.key not in sent
        assert NEW.sign_key not in sent


@given(CODES)
def test_a_code_is_read_as_people_write_it(code: Code) -> None:
    text = str(code)
    assert len(text) == 16
    assert Code.read(text) == code
    sloppy = text[:-1].replace("0", "o").replace("1", "l").lower() + text[-1]
    assert Code.read(f" {sloppy} ") == code
    assert repr(code) == "Code(…)"


@given(CODES, st.integers(0, 12), st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZ"))
def test_one_wrong_symbol_is_always_noticed(code: Code, place: int, symbol: str) -> None:
    text = str(code).replace("-", "")
    if text[place] != symbol:
        with pytest.raises(CodeUnusable, match="mistyped"):
            Code.read(text[:place] + symbol + text[place + 1 :])


@given(CODES, st.integers(0, 11))
def test_two_symbols_changed_about_are_noticed(code: Code, place: int) -> None:
    text = str(code).replace("-", "")
    a, b = text[place], text[place + 1]
    if a != b:
        with pytest.raises(CodeUnusable):
            Code.read(text[:place] + b + a + text[place + 2 :])


@pytest.mark.parametrize("typed", ["", "7ZK4M", "7ZK4M-0QWER-TY2*x", "!!!!!-!!!!!-!!!!"])
def test_what_is_no_code_is_refused(typed: str) -> None:
    with pytest.raises(CodeUnusable, match="14 symbols"):
        Code.read(typed)


def test_codes_carry_sixty_five_bits() -> None:
    assert Code.fresh(lambda n: b"\xff" * n).value == (1 << 65) - 1
    assert len({Code.fresh(os.urandom).slot for _ in range(50)}) == 50


def test_a_code_serves_once_and_not_for_long() -> None:
    shown = offer()
    first, second = (Request(shown.code, one, os.urandom) for one in (NEW, member("thief")))
    assert shown.admit(read_letter(first.letter), NOW) is not None
    with pytest.raises(CodeUnusable):
        shown.admit(read_letter(second.letter), NOW)
    late = offer()
    with pytest.raises(CodeUnusable, match="expired"):
        late.admit(read_letter(Request(late.code, NEW, os.urandom).letter), NOW + CODE_SECONDS)


def test_guesses_end_the_code() -> None:
    shown = offer()
    wrong = Code(shown.code.value ^ 1)
    for _ in range(MAX_TRIES):
        guess = read_letter(Request(wrong, NEW, os.urandom).letter)
        letter = Letter(guess.kind, shown.code.slot, guess.sender, guess.counter, guess.rest)
        assert shown.admit(letter, NOW) is None
    with pytest.raises(CodeUnusable):
        shown.admit(read_letter(Request(shown.code, NEW, os.urandom).letter), NOW)


def test_the_cloud_cannot_answer_itself_nor_swap_the_device() -> None:
    shown = offer()
    request = Request(shown.code, NEW, os.urandom)
    letter = read_letter(request.letter)
    # Under another sender's name the request does not open.
    thief = Letter(letter.kind, letter.address, b"t" * 16, letter.counter, letter.rest)
    assert shown.admit(thief, NOW) is None
    # An answer by someone who does not know the code is noticed by the new device.
    other = offer(Code(shown.code.value ^ 2))
    admission = other.admit(
        read_letter(Request(other.code, NEW, os.urandom).letter), NOW
    )  # fmt: skip
    assert admission is not None
    forged = read_letter(other.answer(admission, welcome())[0])
    placed = Letter(forged.kind, shown.code.slot, forged.sender, forged.counter, forged.rest)
    with pytest.raises(CodeUnusable, match="does not fit"):
        request.welcome(placed)


def test_a_code_learnt_later_opens_nothing() -> None:
    """What was recorded stays shut: the answer's key needs an ephemeral secret as well."""
    shown = offer()
    request = Request(shown.code, NEW, os.urandom)
    admission = shown.admit(read_letter(request.letter), NOW)
    assert admission is not None
    letter, _ = shown.answer(admission, welcome())
    knows_the_code = Request(shown.code, NEW, os.urandom)
    knows_the_code._transcript = request._transcript  # and has seen all that passed
    with pytest.raises(CodeUnusable):
        knows_the_code.welcome(read_letter(letter))


@given(st.binary(max_size=200))
def test_no_bytes_crash_either_side(junk: bytes) -> None:
    shown = offer()
    letter = read_letter(Request(shown.code, NEW, os.urandom).letter)
    strange = Letter(letter.kind, letter.address, letter.sender, 1, junk)
    assert shown.admit(strange, NOW) is None
    request = Request(shown.code, NEW, os.urandom)
    answer = Letter(letter.kind, letter.address, bytes.fromhex(OLD.device), 2, junk)
    if junk:
        with pytest.raises(CodeUnusable):
            request.welcome(answer)
