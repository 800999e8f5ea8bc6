"""Token bytes and text: joined, the tokens' bytes give the tokenizer's text.

There are three kinds of tokenizer at toy size. Their rules differ only in the space before a text:

- byte-level BPE (GPT-2, Llama 3, Qwen): the token bytes are the text, byte for byte.
- SentencePiece style (Llama 2, Mistral, Gemma): the tokenizer puts a space before the text, which
  its own `decode` removes. Here the first token keeps it, since in the middle of a text it is a
  normal space.
- WordPiece (BERT): words are joined by spaces when decoded; the first word keeps its space too.
"""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engine.errors import PromptError, TokenizerError
from engine.model.loading.checkpoint import BUNDLED_FOLDER
from engine.model.vocabulary import MAX_PROMPT_BYTES, Vocabulary, readable
from engine.text.text_stream import TextStream
from tests.engine.kinds_of_tokenizer import CORPUS, byte_level, sentencepiece, whole, wordpiece

BYTE_LEVEL = whole(byte_level())
REPLACE = whole(sentencepiece(metaspace=False))
METASPACE = whole(sentencepiece(metaspace=True))
WORDPIECE = whole(wordpiece())


def spelled(vocabulary: Vocabulary, token_ids: list[int]) -> bytes:
    return b"".join(vocabulary.token_bytes(token_id) for token_id in token_ids)


def streamed(vocabulary: Vocabulary, token_ids: list[int]) -> str:
    """Return the text as a decoder assembles it, token by token."""
    stream = TextStream()
    text = "".join(stream.feed(vocabulary.token_bytes(token_id)) for token_id in token_ids)
    assert stream.state[0] == b"", "a whole text leaves no unfinished character"
    return text


# Hypothesis draws from all of Unicode; these ensure that the awkward parts occur.
awkward = st.sampled_from(
    [
        *[
            "🙂",
            "👩‍👩‍👧‍👦",
            "🇩🇪",
            "e\u0301",
            "a\u0308\u0323",
            "한국어",
            "日本語",
            "中文",
            "שלום",
            "مرحبا",
        ],
        *["\u202e", "\u200b", "\ufeff", "\x00", "\x07", "\x1b[0m", "\r\n", "\t", "  ", "\u00a0"],
        *["\ufffd", "\U0010ffff", "ﬀ", "ß", "Straße", "the cat", "<0x41>", "##s", "Ġ", "▁"],
    ]
)
any_text = st.lists(awkward | st.text(max_size=6), min_size=1, max_size=8).map("".join)
any_text = any_text.filter(bool)


@given(any_text)
def test_byte_level_tokens_spell_the_text(text):
    token_ids = BYTE_LEVEL.encode(text)
    assert spelled(BYTE_LEVEL, token_ids) == text.encode()
    assert streamed(BYTE_LEVEL, token_ids) == text
    assert BYTE_LEVEL.tokenizer.decode(token_ids) == text


@pytest.mark.parametrize("vocabulary", [REPLACE, METASPACE], ids=["replace", "metaspace"])
@given(any_text)
@example("x")
@example("  x")
def test_sentencepiece_tokens_spell_the_text_after_one_space(vocabulary, text):
    token_ids = vocabulary.encode(text)
    joined = spelled(vocabulary, token_ids)
    # ▁ represents a space in these vocabularies, so a typed one looks like a space.
    plain = text.replace("▁", " ")
    # Metaspace puts no space before a text that begins with one.
    keeps = vocabulary is METASPACE and plain.startswith(" ")
    assert joined.decode() == (plain if keeps else f" {plain}")
    assert streamed(vocabulary, token_ids) == joined.decode()
    assert vocabulary.tokenizer.decode(token_ids) == joined.decode()[1:]


words = st.sampled_from(["the", "cat", "sat", "on", "mat", "hund", "straße", "123", "(x)", "."])


@given(st.lists(words, min_size=1, max_size=12).map(" ".join))
@example("the cat sat on the mat.")
def test_wordpiece_tokens_spell_decoded_text_after_one_space(text):
    token_ids = WORDPIECE.encode(text)
    # The tokenizer's own decoder attaches a full stop or a bracket to the word before it.
    assert streamed(WORDPIECE, token_ids).removeprefix(" ") == WORDPIECE.tokenizer.decode(token_ids)


def test_words_with_end_markers_are_kept_apart():
    """Use BPE of the oldest kind (GPT, FSMT): the end of a word is part of the piece."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    vocabulary = whole(PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>"))
    token_ids = vocabulary.encode("the cat sat")
    assert streamed(vocabulary, token_ids).strip() == "the cat sat"


BUNDLED = BUNDLED_FOLDER / "tokenizer.json"


@pytest.fixture(scope="module")
def bundled() -> Vocabulary:
    if not BUNDLED.exists():
        pytest.skip("the bundled model is not here")
    return whole(AutoTokenizer.from_pretrained(BUNDLED_FOLDER))


def test_bundled_tokens_spell_every_byte_and_are_distinct(bundled):
    ordinary = [i for i in range(bundled.size) if not bundled.is_special(i)]
    spellings = {bundled.token_bytes(i) for i in ordinary}
    assert {bytes([byte]) for byte in range(256)} <= spellings
    assert len(spellings) == len(ordinary)


# --- Unfinished characters -----------------------------------------------------------------------


@pytest.mark.parametrize("vocabulary", [BYTE_LEVEL, REPLACE], ids=["byte level", "replace"])
def test_split_character_appears_with_its_last_byte(vocabulary):
    token_ids = vocabulary.encode("a🙂")[-4:]
    assert [vocabulary.token_bytes(i) for i in token_ids] == [b"\xf0", b"\x9f", b"\x99", b"\x82"]
    assert [vocabulary.label(i) for i in token_ids] == ["<0xF0>", "<0x9F>", "<0x99>", "<0x82>"]
    stream = TextStream()
    seen = [
        (stream.feed(vocabulary.token_bytes(token_id)), stream.state[0]) for token_id in token_ids
    ]
    assert seen == [("", b"\xf0"), ("", b"\xf0\x9f"), ("", b"\xf0\x9f\x99"), ("🙂", b"")]


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=8))
def test_bytes_cut_anywhere_give_the_same_text(data, cuts):
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    stream = TextStream()
    text = "".join(stream.feed(data[a:b]) for a, b in pairwise(edges))
    rest = stream.state[0].decode("utf-8", "replace")
    assert text + rest == data.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("é🙂".encode(), "é🙂"),
        (b"\xe2\x82", "<0xE2><0x82>"),
        (b"\x82a", "<0x82>a"),
        (b" \xf0\x9f", " <0xF0><0x9F>"),
        (b"\xff\xfe", "<0xFF><0xFE>"),
        (b"\xc0\x80", "<0xC0><0x80>"),  # overlong
        (b"\xed\xa0\x80", "<0xED><0xA0><0x80>"),  # half a surrogate pair
    ],
)
def test_readable_shows_invalid_bytes_in_hex(data, text):
    assert readable(data) == text


# --- Special, added and unknown tokens -----------------------------------------------------------


def test_special_token_is_spelled_as_its_name():
    end = BYTE_LEVEL.tokenizer.eos_token_id
    assert BYTE_LEVEL.is_special(end)
    assert BYTE_LEVEL.label(end) == "<|end|>"
    assert BYTE_LEVEL.token_bytes(end) == b"<|end|>"
    assert BYTE_LEVEL.encode("a<|end|>")[-1] == end, "typed out, it is the token, as in generate"
    assert {REPLACE.label(i) for i in REPLACE.special_ids} == {"<unk>", "<s>", "</s>"}


def test_added_token_spells_itself_as_text():
    (token_id,) = BYTE_LEVEL.encode("größer gleich")
    assert BYTE_LEVEL.token_bytes(token_id) == "größer gleich".encode()
    assert not BYTE_LEVEL.is_special(token_id)


@pytest.mark.parametrize(
    "make",
    [lambda: sentencepiece(metaspace=False), lambda: sentencepiece(metaspace=True), wordpiece],
    ids=["replace", "metaspace", "wordpiece"],
)
def test_added_tokens_spell_the_decoded_text(make):
    """Try Gemma's runs of blanks, and words added by a fine-tune."""
    tokenizer = make()
    tokenizer.add_tokens(["Cat", AddedToken("▁▁▁", normalized=False), AddedToken("x▁y")])
    tokenizer.add_tokens([AddedToken("<end▁of▁turn>", special=True)], special_tokens=True)
    vocabulary = whole(tokenizer)
    *words, special = (tokenizer.convert_tokens_to_ids(name) for name in ADDED)
    the = vocabulary.encode("the")[-1]
    for token_id in words:
        ids = [the, token_id, the]
        assert spelled(vocabulary, ids).decode().removeprefix(" ") == tokenizer.decode(ids)
    assert vocabulary.token_bytes(special) == "<end▁of▁turn>".encode(), "no text, but a name"


ADDED = ("Cat", "▁▁▁", "x▁y", "<end▁of▁turn>")


@pytest.mark.parametrize(
    ("replace", "piece", "text"),
    [
        (decoders.Replace(Regex("▁+"), " "), "▁▁a", b" a"),
        (decoders.Replace(Regex("[~▁]"), " "), "~a▁", b" a "),
        (decoders.Replace("▁", "\t"), "▁a", b"\ta"),
    ],
)
def test_decoder_replacements_apply_to_token_bytes(replace, piece, text):
    words = Tokenizer(models.WordLevel({piece: 0, "<0x41>": 1}, unk_token=piece))
    words.decoder = decoders.Sequence([replace, decoders.ByteFallback(), decoders.Fuse()])
    vocabulary = whole(PreTrainedTokenizerFast(tokenizer_object=words))
    assert [vocabulary.token_bytes(i) for i in (0, 1)] == [text, b"A"]


def test_end_of_text_always_counts_as_control_token():
    vocabulary = Vocabulary(BYTE_LEVEL.tokenizer, BYTE_LEVEL.size, (7, 9))
    flagged = BYTE_LEVEL.tokenizer.eos_token_id
    assert vocabulary.special_ids == {7, 9, flagged}
    assert Vocabulary(None, 5, (3,)).is_special(3)


def test_ids_beyond_the_tokenizer_have_no_bytes():
    vocabulary = Vocabulary(byte_level(), 50_304)
    assert vocabulary.known < 1_000
    assert vocabulary.label(50_300) == "<id 50300>"
    assert vocabulary.token_bytes(50_300) == b""
    assert not vocabulary.is_special(50_300)
    assert vocabulary.label(-1) == "<id -1>" and vocabulary.token_bytes(-1) == b""


def test_every_id_is_unknown_without_a_tokenizer():
    vocabulary = Vocabulary(None, 5)
    assert [vocabulary.label(i) for i in range(2)] == ["<id 0>", "<id 1>"]
    assert vocabulary.token_bytes(3) == b"" and not vocabulary.is_special(3)
    with pytest.raises(TokenizerError, match="no tokenizer"):
        vocabulary.encode("a")


def test_every_id_has_bytes_and_a_label():
    for vocabulary in (BYTE_LEVEL, REPLACE, METASPACE, WORDPIECE):
        for token_id in range(vocabulary.size):
            assert vocabulary.token_bytes(token_id), f"id {token_id} stands for nothing"
            assert vocabulary.label(token_id)


def test_piece_resembling_a_byte_is_text():
    pieces = {"<unk>": 0, "<0xZZ>": 1, "<0x41>": 2, "▁a": 3}
    tokenizer = Tokenizer(models.BPE(pieces, [], byte_fallback=True, unk_token="<unk>"))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    vocabulary = whole(PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>"))
    assert [vocabulary.token_bytes(i) for i in (1, 2, 3)] == [b"<0xZZ>", b"A", b" a"]


# --- Prompts -------------------------------------------------------------------------------------


def test_an_empty_prompt_is_refused():
    with pytest.raises(PromptError, match="prompt is empty"):
        BYTE_LEVEL.encode("")


def test_a_lone_surrogate_becomes_a_question_mark():
    assert spelled(BYTE_LEVEL, BYTE_LEVEL.encode("a\ud800b \ud83d\ude42\udfff")) == b"a?b ???"


def test_a_huge_prompt_never_reaches_the_tokenizer(monkeypatch):
    vocabulary = whole(byte_level())

    def refuse(*args, **kwargs):
        raise AssertionError("the tokenizer was asked")

    monkeypatch.setattr(vocabulary, "tokenizer", refuse)
    for text in ("a" * (MAX_PROMPT_BYTES + 1), "é" * (MAX_PROMPT_BYTES // 2 + 1)):
        with pytest.raises(PromptError, match="more than the 4,000,000"):
            vocabulary.encode(text)


def test_vocabulary_with_missing_ids_keeps_its_words():
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2, "z": 9}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    holes = Vocabulary(PreTrainedTokenizerFast(tokenizer_object=words), 10)
    assert holes.encode("a z") == [0, 9]
    assert holes.label(9).strip() == "z"
    assert holes.label(5) == "<id 5>"
    assert holes.token_bytes(5) == b""
