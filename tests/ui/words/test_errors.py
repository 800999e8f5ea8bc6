"""Errors and messages of the engine: a template and values, shown in English and in German."""

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.calculator.sources import Described
from engine.decoding.decoder import Decoder
from engine.errors import DecodingError, SettingError, msg
from engine.export import snippets
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.samplers import Banned, Constraint, LogitBias
from engine.trace.trace import damaged
from engine.values import Whole, Wrong, convert
from ui.words.errors import in_words, told
from ui.words.language import sentences, speaking
from ui.words.update_translations import KEYWORDS_OF_ENGINE, ROOT

# English words that never occur in the engine's German.
ENGLISH = re.compile(r"\b(the|must|use|got|is|are|has|of|and|or|choose|type)\b")


def filled_in(file: Path) -> Iterator[str]:
    """Yield filled-in texts in place of templates; a template given to `msg` can be translated."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            places = KEYWORDS_OF_ENGINE.get(getattr(node.func, "id", ""), ())
            given = [node.args[at] for at in places if at < len(node.args)]
            yield from (ast.unparse(one) for one in given if isinstance(one, ast.JoinedStr))


def test_engine_messages_are_templates_unknown_to_browser():
    assert [text for file in (ROOT / "engine").rglob("*.py") for text in filled_in(file)] == []
    assert "{the_prompt} is empty; type at least one character." not in sentences("de")


@pytest.mark.parametrize(
    ("refused", "german"),
    [
        (lambda model: SamplingSettings(top_p=1.4), "Top-p .* 1,4; "),
        (lambda model: STAGES["dry"](last_n=0), "dry.last_n muss "),
        (lambda model: Decoder(model, ""), "Der Prompt ist leer"),
        (
            lambda model: Decoder(model, "w1", negative_prompt=[99_999]),
            "Der negative Prompt .* 99.999",
        ),
        (lambda model: Described.pasted("{"), r"Der eingefügte Text .* \("),
    ],
)
def test_refusal_is_translated_with_its_values(refused, german, model):
    with pytest.raises(DecodingError) as raised:
        refused(model)
    error = raised.value
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message.values) == (str(error), error.message.values)
    with speaking("de"):
        said = told(error)
        assert told(again) == said
    assert re.match(german, said)
    own = re.sub(r"\([^)]*\)", "", said)  # texts by others, such as the JSON reader
    assert not ENGLISH.search(own), said
    assert in_words(error) == str(error)


def test_nested_message_is_translated():
    error = SettingError("top_k", 0.5, "must be a whole number", msg("use {a} to {b:,}", (1, 2000)))
    assert error.problem == "must be a whole number" and error.remedy == "use 1 to 2,000"
    outer = msg("A text could not be continued: {error}", error)
    assert outer == f"A text could not be continued: {error}"
    assert str(error) == "top_k must be a whole number, got 0.5; use 1 to 2,000."
    with speaking("de"):
        assert re.match(r"Ein Text .*: top_k muss .* 0,5; .* 2\.000\.", told(outer))
        with pytest.raises(Wrong) as wrong:
            convert({"steps": [0, 1.5]}, dict[str, list[Whole | None]])
        nested = told(damaged(Wrong("steps[1].rank", wrong.value.problem)))
        assert "bei Schritt 1: rank muss eine ganze Zahl oder nichts sein" in nested
        assert told(DecodingError("Nobody knows {this}.")) == "Nobody knows {this}."
    with pytest.raises(ValueError, match="shorter"):
        msg("{one} and {two}", 1)


def test_export_notes_are_translated_to_german():
    given = {
        "logit_bias": LogitBias({3: 200.0}),
        "banned": Banned([[1, 2], [3]]),
        "constraint": Constraint("lark", "start: /a+/"),
        "presence_penalty": STAGES["presence_penalty"](3.0),
    }
    chain = [
        given.get(kind.setting) or kind(*(number.usual for number in kind.info.numbers))
        for kind in DEFAULT_ORDER
    ]
    settings = SamplingSettings(chain=chain, seed=2**40)
    written = snippets(settings, "a", model="gpt2", max_tokens=4, negative_prompt="b")
    notes = {why for snippet in written for _, why in (*snippet.lacking, *snippet.differs)}
    assert len(notes) > 20
    with speaking("de"):
        for why in notes:
            assert told(why) != why and not ENGLISH.search(told(why)), why
