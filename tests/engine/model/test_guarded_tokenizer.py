"""Untrusted tokenizers run in a separate process: the same tokens, and nothing breaks."""

import gc
import json
import shutil
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engine.errors import PanicError, TokenizerError
from engine.model import LanguageModel
from engine.model import guarded_tokenizer as module
from engine.model.guarded_tokenizer import GuardedTokenizer
from engine.model.loading.files import BUNDLED_FOLDER
from engine.model.loading.tokenizer_files import read_tokenizer
from engine.model.vocabulary import Vocabulary
from engine.tokenizing import load_tokenizer, text_tokenizer
from tests.engine.kinds_of_tokenizer import (
    CORPUS,
    byte_level,
    sentencepiece,
    unigram,
    whole,
    wordpiece,
)
from tests.engine.model.loading.folders import edit_json, tiny_model, tiny_tokenizer
from tests.engine.test_panics import PANICS

KINDS = {
    "byte level": byte_level,
    "SentencePiece BPE": lambda: sentencepiece(metaspace=False),
    "Metaspace BPE": lambda: sentencepiece(metaspace=True),
    "WordPiece": wordpiece,
    "Unigram": lambda: unigram(byte_fallback=True),
}
TEXTS = [*CORPUS, "größer gleich</s><|end|> [SEP] x", " \n", "ﷺ" * 300, "\ud800", "\u0301🙂 a"]
TEMPLATE = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}"


def copy_of(tokenizer: PreTrainedTokenizerFast, **arguments) -> PreTrainedTokenizerFast:
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    special = tokenizer.special_tokens_map
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special, **arguments)


@pytest.mark.parametrize(
    ("kind", "of_class"),
    [
        ("byte level", ...),
        ("Unigram", "T5"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (("WordPiece", ...), ("SentencePiece BPE", ...), ("Metaspace BPE", "Llama"))
        ),
    ],
)
def test_guarded_tokenizer_matches_the_unguarded_one(kind, of_class, tmp_path):
    copy_of(KINDS[kind](), chat_template=TEMPLATE).save_pretrained(tmp_path)
    if of_class is not ...:
        edit_json(tmp_path / "tokenizer_config.json", tokenizer_class=f"{of_class}Tokenizer")
    free, guarded = AutoTokenizer.from_pretrained(tmp_path), read_tokenizer(tmp_path)
    assert isinstance(guarded.backend_tokenizer, GuardedTokenizer) and type(guarded) is type(free)
    assert not {"vocab", "_vocab"} & set(vars(guarded)), "the tokens are taken over once"
    assert hash_of(guarded) == hash_of(free)
    assert guarded.get_vocab() == free.get_vocab() and len(guarded) == len(free)
    assert str(guarded.added_tokens_decoder) == str(free.added_tokens_decoder)
    assert guarded.special_tokens_map == free.special_tokens_map
    one, two = whole(free), whole(guarded)
    assert all(one.token_bytes(i) == two.token_bytes(i) for i in range(one.size))
    cuts = text_tokenizer(one), text_tokenizer(two)
    assert [(cut.kind, cut.merges) for cut in cuts[1:]] == [(cuts[0].kind, cuts[0].merges)]
    for text in TEXTS:
        ids = one.encode(text)
        assert ids == two.encode(text), text
        assert free.decode(ids) == guarded.decode(ids), text
        assert chat_of(one, text) == chat_of(two, text), text
        cut = cuts[0].tokenize(text)
        assert cut == cuts[1].tokenize(text), text
        assert cuts[0].makings(cut.pre_tokens) == cuts[1].makings(cut.pre_tokens), text


def hash_of(tokenizer: PreTrainedTokenizerFast) -> str:
    return LanguageModel(tiny_model(), tokenizer).tokenizer_hash


def chat_of(vocabulary: Vocabulary, text: str) -> list[int] | str:
    """A message's ids, or the error: Unigram turns plain text into control tokens."""
    try:
        return vocabulary.chat_ids(text)
    except TokenizerError as error:
        return str(error)


def test_untrusted_tokenizer_files_are_parsed_out_of_process(tmp_path, monkeypatch):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(BUNDLED_FOLDER / name, tmp_path)
    parsed, loads = [], json.loads

    def recorded(text: str | bytes, **options) -> object:
        parsed.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", recorded)
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", None)
    loaded = load_tokenizer(str(tmp_path))
    cut = loaded.tokenize("a strawberry")
    assert all(loaded.makings(cut.pre_tokens)) and loaded.merges > 10_000
    assert (tmp_path / "tokenizer.json").stat().st_size > 1_000_000 > 20 * max(parsed)


def test_oversized_tokenizer_settings_are_refused(tmp_path):
    byte_level().save_pretrained(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("x" * 1_500_000)
    with pytest.raises(TokenizerError, match=r"has 1\.5 MB of settings"):
        read_tokenizer(tmp_path)


def test_only_the_post_processor_can_be_changed(tmp_path):
    tokenizer = saved(tmp_path)
    ids, end = tokenizer("a cat")["input_ids"], tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|end|>", special_tokens=[("<|end|>", end)]
    )
    assert tokenizer("a cat")["input_ids"] == [*ids, end]
    with pytest.raises(AttributeError):
        tokenizer.backend_tokenizer.normalizer = None


def replaced(pattern: dict, content: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": content}


DOUBLED = replaced({"String": "ꙮ"}, "ꙮꙮ")
GOES_TOO_FAR = {
    "doubles 40 times": (
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLED] * 40}},
        "ꙮ",
        (TokenizerError, "takes more than .* to split this text"),
    ),
    "tries all ways": (
        {"normalizer": replaced({"Regex": "a*a*(?!a|$)"}, "")},
        "a" * 4_000,
        (TokenizerError, "takes more than 0.* seconds of processor time to split this text"),
    ),
    "compares all pieces": (
        {
            "pre_tokenizer": None,
            "model": {
                "type": "WordPiece",
                "unk_token": "a",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 10**9,
                "vocab": {"a": 0, "##a": 1},
            },
        },
        "a" * 20_000,
        (TokenizerError, "takes more than 0.* seconds of processor time to split this text"),
    ),
    "makes a novel of it": (
        {"normalizer": replaced({"String": "ꙮ"}, "x" * 200_000)},
        "ꙮ",
        (TokenizerError, r"turns 1 characters into 200,000 characters or tokens"),
    ),
    "panics": (
        {"normalizer": replaced({"Regex": "(a+)+$"}, "a")},
        PANICS,
        (PanicError, r"gave up .* \(.*retry-limit-in-match over"),
    ),
    "has no token for it": (
        {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "zz"}},
        "hello",
        (TokenizerError, r"cannot split this text \(WordLevel error: Missing \[UNK\]"),
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit of memory")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=pytest.mark.long if name == "compares all pieces" else ())
        for name in GOES_TOO_FAR
    ],
)
def test_runaway_tokenizing_is_refused_without_affecting_later_texts(tmp_path, monkeypatch, case):
    changes, text, (kind, said) = GOES_TOO_FAR[case]
    monkeypatch.setattr(module, "MEGABYTES", 300)
    tiny_tokenizer().save_pretrained(tmp_path)
    edit_json(tmp_path / "tokenizer.json", **changes)
    loaded = load_tokenizer(str(tmp_path))
    vocabulary = loaded._vocabulary
    with monkeypatch.context() as here:
        # A slow machine needs most of a second until the library gives up by itself.
        here.setattr(module, "CUT_SECONDS", 0.3 if "takes more than" in said else 60)
        for cut in (vocabulary.encode, loaded.tokenize):
            with pytest.raises(kind, match=said):
                cut(text)
    assert len(vocabulary.encode("a")) == 1


LONG_WORD = "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))


def in_python(folder: Path) -> None:
    """Write a tokenizer with BPE in Python, with a merge for each letter of `LONG_WORD`."""
    pieces = ["<unk>", "<s>", "a@@", "b</w>", *LONG_WORD]
    merges = (f"{LONG_WORD[:n]} {LONG_WORD[n]}" for n in range(1, len(LONG_WORD)))
    config = {"tokenizer_class": "CTRLTokenizer", "bos_token": "<s>", "chat_template": TEMPLATE}
    (folder / "vocab.json").write_text(json.dumps({one: n for n, one in enumerate(pieces)}))
    (folder / "merges.txt").write_text("\n".join(["#version", *merges, ""]), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def test_python_tokenizer_matches_the_unguarded_one(tmp_path):
    in_python(tmp_path)
    free = whole(AutoTokenizer.from_pretrained(tmp_path))
    loaded = load_tokenizer(str(tmp_path))
    guarded = loaded._vocabulary
    for text in ("ab b", "<s>ab<s> \n", "\u4e00\u4e01"):
        assert guarded.encode(text) == free.encode(text), text
        assert guarded.chat_ids(text) == free.chat_ids(text), text
        assert loaded.tokenize(text) == text_tokenizer(free).tokenize(text), text


@pytest.mark.long
def test_python_tokenizer_is_limited_in_time(tmp_path, monkeypatch):
    in_python(tmp_path)
    loaded = load_tokenizer(str(tmp_path))
    guarded = loaded._vocabulary
    ids = guarded.encode("ab")
    with monkeypatch.context() as here:
        here.setattr(module, "CUT_SECONDS", 0.3)
        for cut in (guarded.encode, loaded.tokenize):
            said = "0 seconds of processor time to split this text"
            with pytest.raises(TokenizerError, match=said):
                cut(LONG_WORD)
    assert guarded.encode("ab") == ids


def test_oversized_files_of_python_tokenizer_are_refused(tmp_path):
    in_python(tmp_path)
    data = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    for more, said in (
        ({"x" * 1_500 + str(n): n for n in range(6_000)}, "9.1 MB"),
        ({"x": [[]] * 20_001}, "20,003 lists and objects"),
    ):
        (tmp_path / "extra.json").write_text(json.dumps(data | more))
        with pytest.raises(TokenizerError, match=f"runs in Python .*: extra.json has {said}"):
            read_tokenizer(tmp_path)


def test_bundled_tokenizer_runs_unguarded():
    assert type(read_tokenizer(BUNDLED_FOLDER).backend_tokenizer) is Tokenizer


def saved(folder: Path) -> PreTrainedTokenizerFast:
    byte_level().save_pretrained(folder)
    return read_tokenizer(folder)


def test_the_process_ends_with_its_tokenizer(tmp_path):
    tokenizer = saved(tmp_path)
    Vocabulary(tokenizer, len(tokenizer)).encode("a")
    process = tokenizer.backend_tokenizer._process.child.process
    assert process.poll() is None
    del tokenizer
    gc.collect()
    assert process.poll() is not None


def test_tokenizer_recovers_after_its_process_ends(tmp_path):
    tokenizer = saved(tmp_path)
    ids = tokenizer("a cat")["input_ids"]
    tokenizer.backend_tokenizer._process.child.end()
    assert tokenizer("a cat")["input_ids"] == ids
