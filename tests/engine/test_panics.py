"""A Rust library's panic, which is not an `Exception`, is reported like any other failure."""

import base64

import pytest
import tokenizers
import transformers
from tokenizers import Regex, normalizers, pre_tokenizers

from engine.errors import PanicError, TokenizerError, panics_as_errors
from engine.model.loading.tokenizer_files import read_tokenizer
from engine.model.vocabulary import Vocabulary
from engine.tokenizing import text_tokenizer
from tests.engine.model.loading.folders import edit_json


class PanicException(BaseException):
    """A panic like that of a Rust library; each library has its own class."""


# This expression tries all ways to cut a run of one letter if the text ends differently.
BACKTRACKS = Regex("(a+)+$")
PANICS = "a" * 40 + "b"


def backtracking(part: str) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer of bytes that backtracks in one of its stages."""
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = {piece: place for place, piece in enumerate(sorted(bytes_.alphabet()))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(pieces, []))
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.pre_tokenizer = bytes_
    if part == "split":
        split = pre_tokenizers.Split(BACKTRACKS, "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    else:
        backend.normalizer = normalizers.Replace(BACKTRACKS, "")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend)


@pytest.mark.parametrize("part", ["split", "replace"])
def test_text_that_makes_tokenizer_backtrack_is_refused(part):
    vocabulary = Vocabulary(backtracking(part), 256)
    assert len(vocabulary.encode("b" * 40)) == 40
    for cut in (vocabulary.encode, text_tokenizer(vocabulary).tokenize):
        with pytest.raises(PanicError) as caught:
            cut(PANICS)
        assert "retry-limit-in-match over" in str(caught.value)


def test_folder_with_panicking_tokenizer_is_refused(tmp_path):
    backtracking("split").save_pretrained(tmp_path)
    broken = base64.b64encode(b"\0\4\0\0" + bytes(100)).decode()
    edit_json(
        tmp_path / "tokenizer.json",
        normalizer={"type": "Precompiled", "precompiled_charsmap": broken},
    )
    with pytest.raises(TokenizerError, match=r"gave up.*Precomp"):
        read_tokenizer(tmp_path)


def test_panicking_tokenizer_has_no_line_breaks():
    def panics(*_, **__):
        raise PanicException("out of bounds")

    vocabulary = Vocabulary(backtracking("split"), 256)
    vocabulary.tokenizer = panics
    assert vocabulary.line_break_ids == ()


def test_panic_is_recognised_by_its_class_name():
    with pytest.raises(PanicError, match=r"\(out of bounds\)"), panics_as_errors():
        raise PanicException("out of\nbounds")


def test_other_exceptions_pass_unchanged():
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), panics_as_errors():
            raise error
