"""The explained steps of tokenizing lead to the tokenizer's own tokens, for any text."""

import unicodedata
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engine.errors import PromptError, TokenizerError
from engine.making import MergeHistory
from engine.model.loading.checkpoint import BUNDLED_FOLDER
from engine.model.vocabulary import Vocabulary
from engine.tokenizing import TextTokenizer, byte_tokenizer, code_point_tokenizer, text_tokenizer
from tests.engine.kinds_of_tokenizer import (
    CORPUS,
    byte_level,
    sentencepiece,
    unigram,
    whole,
    wordpiece,
)

BUNDLED = text_tokenizer(whole(AutoTokenizer.from_pretrained(BUNDLED_FOLDER)))
STAGED = {
    "bundled": BUNDLED,
    "byte level": text_tokenizer(whole(byte_level())),
    "SentencePiece BPE": text_tokenizer(whole(sentencepiece(metaspace=False))),
    "Metaspace BPE": text_tokenizer(whole(sentencepiece(metaspace=True))),
    "WordPiece": text_tokenizer(whole(wordpiece())),
    "Unigram": text_tokenizer(whole(unigram(byte_fallback=False))),
    "Unigram with bytes": text_tokenizer(whole(unigram(byte_fallback=True))),
}
# The code-point tokenizer lists over a million characters, so it is made on demand.
WITHOUT_FILES = {"bytes": cache(byte_tokenizer), "code points": cache(code_point_tokenizer)}
SPELLING = {"bundled", "byte level", *WITHOUT_FILES}  # their tokens spell the text unchanged

# Marks, joiners, directions, surrogates, control tokens, runs of one character, parts of emoji.
HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(CORPUS),
        st.sampled_from(["\u202e", "\u200d", "\ufeff", "\u0301" * 3, "\ud800", "\x00"]),
        st.sampled_from(["👩\u200d👩\u200d👧", "🇩🇪", "ﬁ", "İ", "ß"]),
        st.sampled_from(["<|endoftext|>", "<|end|>", "</s>", "<unk>", "[SEP]", "größer gleich"]),
        st.sampled_from([" " * 9, "\r\n", "aaaaaaa", "the the", "<0xE2>", "▁", "Ġ", "##ing"]),
    ),
    min_size=1,
    max_size=6,
).map("".join)


def ids_of(tokenizer: TextTokenizer, text: str) -> list[int]:
    """The tokenizer's own ids for a text."""
    return tokenizer._vocabulary.encode(text)


@settings(max_examples=15, deadline=None)
@given(text=HOSTILE.filter(bool))
@example("\ud800")
@example(" strawberry<|endoftext|>Strawberry")
def test_making_steps_end_in_the_tokenizers_tokens(text):
    without_files = {name: make() for name, make in WITHOUT_FILES.items()}
    for name, tokenizer in (STAGED | without_files).items():
        cut = tokenizer.tokenize(text)
        assert [token.id for token in cut.tokens] == ids_of(tokenizer, text), name
        # Tokenizers without files drop spaces next to a typed control token.
        drops = name in WITHOUT_FILES and any(token.is_special for token in cut.typed)
        if name in SPELLING and not drops:
            assert b"".join(token.data for token in cut.typed) == cut.text.encode(), name
        for token in cut.typed:
            assert 0 <= token.start <= token.end <= len(cut.text), name
            if token.first_byte is not None:
                assert token.data in cut.text[token.start : token.end].encode(), name
        if name in STAGED and not cut.problem:
            for number, pre_token in enumerate(cut.pre_tokens):
                owned = [token.id for token in cut.tokens if token.pre_token == number]
                making = tokenizer.makings([pre_token])[0]
                assert making is not None, (name, pre_token)
                assert list(making.ids) == owned == list(pre_token.ids), (name, pre_token)
        elif name == "bundled":
            pytest.fail(f"The stages of the bundled tokenizer do not lead to its tokens: {text!r}")


def test_corpus_texts_are_explained_by_every_tokenizer():
    """Check that the test above has something to compare."""
    for name, tokenizer in STAGED.items():
        for text in CORPUS:
            cut = tokenizer.tokenize(text)
            assert cut.problem == "" and len(cut.pre_tokens) >= 1, (name, text)


def test_word_merges_go_from_letters_to_tokens():
    (pre_token,) = BUNDLED.tokenize(" strawberry").pre_tokens
    history = BUNDLED.makings([pre_token])[0]
    assert isinstance(history, MergeHistory)
    assert [BUNDLED.label(one) for one in history.symbols] == list(" strawberry")
    assert history.ids_after(0) == history.symbols and history.ids == pre_token.ids
    for number, merge in enumerate(history.merges):
        before, after = history.ids_after(number), history.ids_after(number + 1)
        spelled = [b"".join(map(BUNDLED._vocabulary.token_bytes, ids)) for ids in (before, after)]
        assert len(after) == len(before) - 1 and spelled == [b" strawberry"] * 2
        assert BUNDLED.label(merge.left) + BUNDLED.label(merge.right) == BUNDLED.label(merge.id)
    assert history.merges[0].rank == min(merge.rank for merge in history.merges)


@pytest.mark.parametrize("ignores", [True, False])
def test_ignore_merges_takes_known_words_whole(ignores):
    vocab = {"a": 0, "b": 1, "ab": 2, "bab": 3, "<unk>": 4}
    model = models.BPE(vocab, [("a", "b")], unk_token="<unk>", ignore_merges=ignores)
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = text_tokenizer(whole(PreTrainedTokenizerFast(tokenizer_object=backend)))
    whole_one, unknown = tokenizer.tokenize("bab axxb").pre_tokens
    assert whole_one.ids == ((3,) if ignores else (1, 2))
    as_one, in_parts = tokenizer.makings([whole_one, unknown])
    assert as_one.is_whole is ignores
    assert in_parts.ids == (0, 4, 4, 1)


def test_stages_show_parts_after_each_step():
    cut = STAGED["WordPiece"].tokenize("Größer[SEP]Dog")
    stages = {stage.name: stage for stage in cut.stages}
    assert stages["control tokens"].parts == ("Größer", "Dog")
    assert stages["normalised"].by == ("BertNormalizer",)
    assert stages["normalised"].parts == ("großer", "dog")
    assert stages["pre-tokens"].parts == ("großer", "dog")
    assert [cut.text[one.start : one.end] for one in cut.pre_tokens] == ["Größer", "Dog"]


def test_unknown_word_is_not_a_control_token():
    cut = STAGED["WordPiece"].tokenize("the ☃ [UNK] cat")
    known = {cut.text[one.start : one.end]: one for one in cut.typed}
    assert known["☃"].is_unknown and known["☃"].pre_token is not None
    assert not known["[UNK]"].is_unknown and known["[UNK]"].pre_token is None
    assert known["☃"].id == known["[UNK]"].id
    texts = [cut.text[one.start : one.end] for one in cut.pre_tokens]
    assert texts == ["the", "☃", "cat"]


def test_bytes_of_one_character_share_its_range():
    cut = WITHOUT_FILES["bytes"]().tokenize("é🙂")
    assert [token.data for token in cut.typed] == [bytes([one]) for one in "é🙂".encode()]
    assert [(token.start, token.end) for token in cut.typed] == [(0, 1)] * 2 + [(1, 2)] * 4
    assert [token.first_byte for token in cut.typed] == [0, 1, 2, 3, 4, 5]
    assert cut.tokens[-1].is_inserted and cut.tokens[-1].is_special
    assert cut.bytes_per_token == 1 and cut.characters_per_token == pytest.approx(1 / 3)
    code_points = WITHOUT_FILES["code points"]().tokenize("é🙂")
    assert [token.id for token in code_points.typed] == [0xE9, 0x1F642]
    assert code_points.tokens[0].is_inserted and code_points.characters_per_token == 1


def test_unigram_cuts_are_sorted_by_score():
    tokenizer = STAGED["Unigram"]
    for pre_token in tokenizer.tokenize(CORPUS[0]).pre_tokens:
        making = tokenizer.makings([pre_token])[0]
        scores = [cut.score for cut in making.cuts]
        assert scores == sorted(scores, reverse=True)
        for cut in making.cuts:
            spelled = "".join(making.text[one.start : one.end] for one in cut.tokens)
            assert spelled == unicodedata.normalize("NFKC", pre_token.text)
            assert cut.score == pytest.approx(sum(one.score for one in cut.tokens))


def test_text_that_cannot_be_cut_is_refused():
    with pytest.raises(PromptError, match="is empty; type at least one"):
        BUNDLED.tokenize("")
    with pytest.raises(PromptError, match="shorten it"):
        BUNDLED.tokenize("a" * 4_000_001)
    with pytest.raises(TokenizerError, match="no tokenizer"):
        text_tokenizer(Vocabulary(None, 8))
