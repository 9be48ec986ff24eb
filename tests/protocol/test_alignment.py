"""Aligning two sequences, beside the plain textbook algorithms."""

from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.models.alignment import align, common_prefix, common_subsequence, longest_run

WORDS = st.lists(st.sampled_from("abcd"), max_size=14)


def textbook(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        before, row = row, [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
    return row[-1]


@settings(max_examples=200, deadline=None)
@given(WORDS, WORDS)
def test_an_alignment_is_a_longest_common_subsequence_and_all_that_is_left(
    a: list[str], b: list[str]
) -> None:
    found = align(a, b)
    assert len(found.in_order) == common_subsequence(a, b) == textbook(a, b)
    assert found.in_order == sorted(found.in_order)
    assert all(x < y for (_, x), (_, y) in zip(found.in_order, found.in_order[1:], strict=False))
    for x, y in [*found.in_order, *found.moved]:
        assert a[x] == b[y]
    left = [x for gap in found.gaps for x in gap.left]
    right = [y for gap in found.gaps for y in gap.right]
    partners = [*found.in_order, *found.moved]
    assert sorted([*left, *(x for x, _ in partners)]) == list(range(len(a)))
    assert sorted([*right, *(y for _, y in partners)]) == list(range(len(b)))
    assert not {a[x] for x in left} & {b[y] for y in right}


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS)
def test_runs_and_prefixes(a: list[str], b: list[str]) -> None:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    assert longest_run(a, b) == matcher.find_longest_match().size
    shared = common_prefix(a, b)
    assert a[:shared] == b[:shared]
    assert a[: shared + 1] != b[: shared + 1] or len(a) == shared or len(b) == shared
