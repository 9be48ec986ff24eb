"""Mailboxes for tests: one that loses, repeats and shuffles, and the cloud's own over SQLite."""

from __future__ import annotations

import random
from collections.abc import Iterable

from cloud.actors.mailbox import Mailbox as CloudMailbox
from cloud.actors.mailbox import MailRefused
from device.account.errors import AccountError, MailboxFull, NumberSpent
from protocol.mail import LetterKind, read_letter


class RoughPost:
    """A mailbox in RAM that keeps every letter, and may treat them badly."""

    def __init__(self, seed: int = 0, *, lose: float = 0.0, repeat: float = 0.0) -> None:
        self._random = random.Random(seed)
        self._lose = lose
        self._repeat = repeat
        self.letters: list[tuple[int, str, bytes]] = []
        """(sequence, sender, letter)"""
        self.everything: list[bytes] = []
        self.shuffle = False

    def calm(self) -> None:
        """From here on nothing is lost."""
        self._lose = self._repeat = 0.0
        self.shuffle = False

    def box(self, device: str) -> RoughBox:
        return RoughBox(self, device)

    def put(self, device: str, letter: bytes) -> None:
        self.everything.append(letter)
        if read_letter(letter).kind is LetterKind.ROSTER:
            return
        sealed = read_letter(letter).kind is LetterKind.SEALED
        if sealed and self._random.random() < self._lose:
            return
        times = 2 if sealed and self._random.random() < self._repeat else 1
        for _ in range(times):
            self.letters.append((len(self.letters) + 1, device, letter))

    def page(self, device: str, after: int) -> list[tuple[int, bytes]]:
        found = [(n, data) for n, sender, data in self.letters if n > after and sender != device]
        page = [row for row in found if after or read_letter(row[1]).kind is LetterKind.PAIRING]
        page = page[:16] or found[:16]
        if self.shuffle:
            last = page[-1][0] if page else 0
            self._random.shuffle(page)
            page = [(last, data) for _, data in page]
        return page


class RoughBox:
    def __init__(self, post: RoughPost, device: str) -> None:
        self._post = post
        self._device = device

    async def post(self, letter: bytes) -> None:
        self._post.put(self._device, letter)

    async def collect(self, after: int) -> list[tuple[int, bytes]]:
        return self._post.page(self._device, after)


class CloudBox:
    """One device's way to the cloud's mailbox actor."""

    def __init__(self, cloud: CloudMailbox, device: str, now: float = 1e9) -> None:
        self.cloud = cloud
        self.device = device
        self.now = now
        self.seen: list[bytes] = []
        """Every byte that reached the cloud."""

    async def post(self, letter: bytes) -> None:
        self.seen.append(letter)
        try:
            self.cloud.post(self.device, letter, self.now)
        except MailRefused as refused:
            if refused.code == "full":
                raise MailboxFull from None
            if refused.code == "number":
                raise NumberSpent from None
            raise AccountError(refused.code) from None

    async def collect(self, after: int) -> list[tuple[int, bytes]]:
        return self.cloud.collect(self.device, after, self.now)


def holds(everything: Iterable[bytes], text: str) -> bool:
    """Whether a text appears in any of these, in UTF-8 or UTF-16."""
    forms = [text.encode(), text.encode("utf-16-le")]
    return any(form in data for data in everything for form in forms)
