"""Places in a constraint: queries in any order, ends of texts, tokenizers of every kind."""

import itertools
import json
import random
import threading

import numpy as np
import pytest
import tokenizers
import transformers

from engine.errors import SettingError
from engine.grammar import Places
from engine.grammar import allowed_tokens as module
from engine.model.vocabulary import Vocabulary
from tests.engine.grammar.tokens import places_over, words_of_abc

AS_MANY = 'start: "a" start? "b"'
A, B, AB, END, OTHER_END, BLANK, CONTROL = range(7)
TOKENS = (b"a", b"b", b"ab", b"<end>", b"b", b"", b"ab")
PLACES = places_over(TOKENS, (END, OTHER_END), special=(CONTROL,))


def allowed(places: Places, language: str, source: str, ids=()) -> list[int]:
    return np.flatnonzero(places.at(language, source, ids).allowed).tolist()


def test_end_is_allowed_only_after_complete_text():
    assert allowed(PLACES, "regex", "ab*", ()) == [A, AB]
    here = PLACES.at("regex", "ab*", (A,))
    assert here.may_end and not here.must_end and here.broken_at is None
    assert np.flatnonzero(here.allowed).tolist() == [B, END, OTHER_END]
    assert allowed(PLACES, "regex", "ab", (AB,)) == [END, OTHER_END]
    assert PLACES.at("regex", "ab", (AB,)).must_end


def test_blank_and_control_tokens_are_never_allowed():
    for ids in ((), (A,), (AB, B)):
        place = PLACES.at("regex", "(.|\n)*", ids)
        assert not place.allowed[[BLANK, CONTROL]].any()
        assert place.may_end


def test_only_end_tokens_follow_the_end():
    assert allowed(PLACES, "regex", "ab", (AB, END)) == [END, OTHER_END]
    assert allowed(PLACES, "regex", "ab", (AB, END, OTHER_END)) == [END, OTHER_END]
    assert PLACES.at("regex", "ab+", (AB, END, B)).broken_at == 2
    assert PLACES.at("regex", "ab", (A, END)).broken_at == 1, "it ended too early"


@pytest.mark.parametrize("wrong", [(B,), (A, B, B), (AB, CONTROL), (BLANK,), (OTHER_END,)])
def test_place_reports_the_token_that_broke_the_source(wrong):
    place = PLACES.at("lark", AS_MANY, wrong)
    assert not place.allowed.any() and not place.may_end and not place.must_end
    assert place.broken_at == next(
        n for n in range(len(wrong)) if PLACES.at("lark", AS_MANY, wrong[: n + 1]).broken_at == n
    )
    assert allowed(PLACES, "lark", AS_MANY, ()) == [A, AB], "the next question is not harmed"


def test_queries_in_any_order_match_a_fresh_matcher():
    words = words_of_abc(39)
    sources = (("regex", "a[bc]{0,5}"), ("lark", AS_MANY), ("choices", '["abc", "acab", "b"]'))
    texts = [*itertools.product(range(3), repeat=2), *itertools.product((0, 4, 11), repeat=2)]
    asked = [(source, text[:n]) for source in sources for text in texts for n in range(3)]
    random.Random(3).shuffle(asked)
    shared = places_over(words)
    for (language, source), ids in asked:
        alone = places_over.__wrapped__(words)
        one, other = shared.at(language, source, ids), alone.at(language, source, ids)
        assert np.array_equal(one.allowed, other.allowed), (source, ids)
        for name in ("may_end", "must_end", "broken_at"):
            assert getattr(one, name) == getattr(other, name), (source, ids)


def test_answers_are_read_only_and_storage_is_bounded():
    places = places_over.__wrapped__(words_of_abc(39))
    with pytest.raises(ValueError, match="read-only"):
        places.at("regex", "a*", ()).allowed[0] = False
    for number in range(100):
        places.at("regex", f"a{{0,{number + 1}}}", (0,))
    assert len(places._places) <= module.MOST_PLACES
    assert len(places._sources) <= module.MOST_SOURCES


def test_concurrent_queries_get_correct_answers():
    places, wrong = places_over.__wrapped__(words_of_abc(39)), []

    def ask(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(60):
            ids = [rng.randrange(2) for _ in range(rng.randrange(5))]
            right = ids == sorted(ids) and ids.count(1) <= ids.count(0)
            if (places.at("lark", AS_MANY, ids).broken_at is None) != right:
                wrong.append(ids)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_forced_bytes_have_no_alternative():
    assert PLACES.forced("choices", '["abab", "abb"]', ()) == b"ab"
    assert PLACES.forced("choices", '["abab", "abb"]', (AB,)) == b""
    assert PLACES.forced("choices", '["abab", "abb"]', (AB, A)) == b"b"
    assert PLACES.forced("regex", "ab", (B,)) == b"", "a text that left it"
    assert PLACES.forced("regex", "ab", (AB, END)) == b"", "a text that has ended"


def test_text_without_a_next_token_is_not_broken():
    only_a = places_over((b"a", b"<end>"), (1,))
    assert allowed(only_a, "regex", "ab") == [0]
    place = only_a.at("regex", "ab", (0,))
    assert not place.allowed.any() and place.broken_at is None and not place.may_end
    assert allowed(only_a, "regex", "ab") == [0], "the next question is not harmed"


def test_constraint_without_a_tokenizer_is_refused():
    with pytest.raises(SettingError):
        Places(None, 10).at("regex", "a", ())


def test_expensive_source_is_refused_without_blocking_later_queries(bundled):
    source, ids, rng = "(.*a.{200}|.*b.{300}|.*c.{400})*", [], np.random.default_rng(1)
    with pytest.raises(SettingError, match=r"followed after .*lexer error"):
        for _ in range(200):
            choices = np.flatnonzero(bundled.places.at("regex", source, ids).allowed)
            ids.append(int(rng.choice(choices)))
    assert 5 < len(ids) < 200
    assert bundled.places.at("regex", source, ids[:3]).allowed.any()


# --- Tokenizers -----------------------------------------------------------------------------------


def of_tokenizer(tokenizer, size: int, ends: tuple[int, ...] = ()) -> Places:
    vocabulary = Vocabulary(tokenizer, size)
    return Places(lambda: vocabulary.token_table(ends), size)


def check(tokenizer, places: Places, text: str) -> None:
    """Check that a text's tokens are allowed one by one, under a constraint to that very text."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    source = json.dumps([text])
    for place, token_id in enumerate(ids):
        assert places.at("choices", source, ids[:place]).allowed[token_id], (text, place)
    assert places.at("choices", source, ids).must_end


def test_byte_level_tokenizer_handles_padding_and_added_tokens(tokenizer):
    twin = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer)
    twin.add_tokens(["<tool>"])
    twin.add_special_tokens({"additional_special_tokens": ["<|turn|>"]})
    size = len(twin) + 20  # rows of the output layer without a token
    places = of_tokenizer(twin, size)
    check(twin, places, "naïve 日本 a b")
    tool, turn = twin.convert_tokens_to_ids(["<tool>", "<|turn|>"])
    anything = places.at("regex", "(.|\n)*", ())
    assert anything.allowed[tool] and not anything.allowed[turn]
    assert not anything.allowed[len(twin) :].any() and anything.allowed.size == size
    assert allowed(places, "regex", "<tool>")[-1] == tool, "an added word is text"
    assert not places.at("regex", "<.turn.>", ()).allowed[turn], "a control token never is"
    short = of_tokenizer(twin, 200)  # a tokenizer with more tokens than the model scores
    assert short.at("regex", ".*", ()).allowed.size == 200


def test_sentencepiece_and_wordpiece_tokenizers_follow_constraints():
    pieces = {f"<0x{byte:02X}>": byte for byte in range(256)}
    pieces |= {"▁a": 256, "▁": 257, "b": 258}
    model = tokenizers.models.BPE(vocab=pieces, merges=[], byte_fallback=True)
    bpe = tokenizers.Tokenizer(model)
    bpe.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback()]
    )
    places = of_tokenizer(transformers.PreTrainedTokenizerFast(tokenizer_object=bpe), 259)
    assert allowed(places, "regex", " a?b") == [0x20, 256, 257]
    assert allowed(places, "regex", "é") == [0xC3]
    assert allowed(places, "regex", "é", (0xC3,)) == [0xA9]
    words = {"[UNK]": 0, "good": 1, "##ness": 2, "day": 3}
    word_piece = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    word_piece.decoder = tokenizers.decoders.WordPiece()
    places = of_tokenizer(transformers.PreTrainedTokenizerFast(tokenizer_object=word_piece), 4)
    assert allowed(places, "regex", " good(ness)?", (1,)) == [2]
