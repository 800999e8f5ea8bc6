"""A text grows by tokens, whose borders may split characters, and rewinds to any length."""

import pytest

from engine.model.vocabulary import Vocabulary
from engine.text.written import WrittenText

TEXT = "naïve café 🙂 and 日本 again"


@pytest.fixture(scope="module")
def vocabulary(tokenizer) -> Vocabulary:
    return Vocabulary(tokenizer, len(tokenizer))


@pytest.fixture(scope="module")
def ids(tokenizer) -> list[int]:
    """The bytes of the text one by one, with a special token between them."""
    cut = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(TEXT)
    by_byte = tokenizer.convert_tokens_to_ids([letter for piece, _ in cut for letter in piece])
    return [*by_byte[:9], tokenizer.eos_token_id, *by_byte[9:]]


def written(vocabulary: Vocabulary, ids: list[int]) -> WrittenText:
    text = WrittenText(vocabulary)
    for token_id in ids:
        text.append(text.piece(token_id))
    return text


def test_characters_appear_with_their_last_byte(vocabulary, ids, tokenizer):
    text, seen = WrittenText(vocabulary), b""
    for token_id in ids:
        piece = text.piece(token_id)
        assert text.piece(token_id) == piece, "to look changes nothing"
        assert piece.is_special is (token_id == tokenizer.eos_token_id)
        if piece.is_special:
            assert piece.text == "" and piece.token_bytes == tokenizer.eos_token.encode()
        else:
            seen += piece.token_bytes
        text.append(piece)
        assert text.text.encode() + text.pending == seen
    assert (text.text, text.pending) == (TEXT, b"")


def test_text_rewinds_to_any_length_and_continues(vocabulary, ids, tokenizer):
    for length in range(len(ids)):
        text, shorter = written(vocabulary, ids), written(vocabulary, ids[:length])
        text.rewind(length)
        assert (text.text, text.pending) == (shorter.text, shorter.pending)
        other = [*ids[:length], tokenizer.eos_token_id, *ids[length:]]  # one token later
        for token_id in other[length:]:
            text.append(text.piece(token_id))
        assert text.text == TEXT
        text.rewind(length + 1)
        assert (text.text, text.pending) == (shorter.text, shorter.pending)


def test_fork_does_not_change_the_original(vocabulary, ids):
    parting = next(n for n in range(12, len(ids)) if written(vocabulary, ids[:n]).pending)
    text = written(vocabulary, ids[:parting])
    before = text.text, text.pending
    assert before[1], "it parts within a character"
    twin = text.fork()
    for token_id in ids[parting:]:
        twin.append(twin.piece(token_id))
    assert twin.text == TEXT and (text.text, text.pending) == before
    twin.rewind(2)
    assert twin.text == written(vocabulary, ids[:2]).text
    assert (text.text, text.pending) == before


def test_stop_string_is_found_with_its_completing_token(vocabulary, ids):
    text, found = WrittenText(vocabulary), []
    for token_id in ids:
        piece = text.piece(token_id, ("é 🙂", "not there"))
        found.append(piece.stop_string)
        text.append(piece)
    place = next(place for place, string in enumerate(found) if string)
    assert [string for string in found if string] == ["é 🙂"]
    assert written(vocabulary, ids[: place + 1]).text.endswith("é 🙂")


@pytest.mark.parametrize("string", ["<|end|>", "a<|end|>", "<|end|>bc", "d|>b"])
def test_stop_string_may_contain_control_token_names(vocabulary, tokenizer, string):
    """Expect the same as `generate`, which decodes such names."""
    ids = [*tokenizer("ba")["input_ids"], tokenizer.eos_token_id, *tokenizer("bcd")["input_ids"]]
    text, found = WrittenText(vocabulary), []
    for token_id in ids:
        piece = text.piece(token_id, (string,))
        found.append(piece.stop_string)
        text.append(piece)
    names = [tokenizer.decode(ids[: count + 1]) for count in range(len(ids))]
    assert found.index(string) == next(i for i, name in enumerate(names) if string in name)
    assert text.text == "babcd"
    text.rewind(found.index(string))
    twin = text.fork()
    assert twin.piece(ids[found.index(string)], (string,)).stop_string == string
    named = Vocabulary(tokenizer, len(tokenizer), (tokenizer.eos_token_id,))
    assert WrittenText(named).piece(tokenizer.eos_token_id, ("<|end|>",)).stop_string is None
