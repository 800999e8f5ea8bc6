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
from engine.grammar.source import checked_source
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.samplers import Banned, Constraint, LogitBias
from engine.text.stopping import checked_max_new_tokens
from engine.trace.trace import damaged
from engine.values import Whole, Wrong, convert
from ui.words.errors import in_words, told
from ui.words.language import sentences, speaking
from ui.words.update_translations import KEYWORDS_OF_ENGINE, ROOT, said_in_module, translated

ENGINE = ROOT / "engine"
# English words that never occur in the engine's German.
ENGLISH = re.compile(r"\b(the|must|use|got|is|are|has|of|and|or|choose|type)\b")


def filled_in(file: Path) -> Iterator[str]:
    """Yield filled-in texts in place of templates; a template given to `msg` can be translated."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            places = KEYWORDS_OF_ENGINE.get(getattr(node.func, "id", ""), ())
            given = [node.args[at] for at in places if at < len(node.args)]
            yield from (ast.unparse(one) for one in given if isinstance(one, ast.JoinedStr))


def test_every_engine_message_has_a_german_translation():
    known = {message.id for message in translated("de") if message.string}
    for file in ENGINE.rglob("*.py"):
        assert [*filled_in(file)] == [], file
        assert {*said_in_module(file, KEYWORDS_OF_ENGINE)} <= known, file


def test_engine_messages_are_not_sent_to_browser():
    assert "{the_prompt} is empty; type at least one character." not in sentences("de")


def begun(prompt="w1", **changes):
    return lambda model: Decoder(model, prompt, SamplingSettings(**changes))


REFUSED = {
    "Top-p muss über 0 und höchstens 1 sein, gegeben: 1,4; 1 schaltet es aus, "
    "Temperatur 0 ist greedy.": lambda model: SamplingSettings(top_p=1.4),
    "Temperatur darf nicht negativ sein, gegeben: -1,0; 0 für greedy nehmen, oder 0,000001 und "
    "mehr (1 ändert nichts).": lambda model: SamplingSettings(temperature=-1.0),
    "dry.last_n muss -1 oder mindestens 1 sein, gegeben: 0; ": lambda model: STAGES["dry"](
        last_n=0
    ),
    "max_new_tokens darf nicht negativ sein, gegeben: -1; ": lambda model: checked_max_new_tokens(
        -1
    ),
    "Vorgabe ist kein regulärer Ausdruck bei Zeichen ": lambda model: checked_source(
        "regex", "a(b"
    ),
    "Der Prompt ist leer; mindestens ein Zeichen eingeben.": begun(""),
    "Der Prompt enthält die Token-id 99.999, aber das Modell kennt die ids 0 bis ": begun([99_999]),
    "Der negative Prompt enthält die Token-id 99.999, aber das Modell kennt ": lambda model: (
        Decoder(model, "w1", SamplingSettings(), negative_prompt=[99_999])
    ),
    "Der eingefügte Text ist kein gültiges JSON (": lambda model: Described.pasted("{"),
}


@pytest.mark.parametrize("german", REFUSED)
def test_refusal_is_translated_with_its_values(german, model):
    with pytest.raises(DecodingError) as refused:
        REFUSED[german](model)
    error = refused.value
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message.values) == (str(error), error.message.values)
    with speaking("de"):
        said = told(error)
        assert told(again) == said
    assert said.startswith(german) and said.endswith(".")
    own = re.sub(r"\([^)]*\)", "", said)  # texts by others, such as the JSON reader
    assert not ENGLISH.search(own), said
    assert in_words(error) == str(error)


def test_nested_message_is_translated():
    error = SettingError("top_k", 0.5, "must be a whole number", msg("use {a} to {b:,}", (1, 2000)))
    assert error.problem == "must be a whole number" and error.remedy == "use 1 to 2,000"
    outer = msg("A text could not continue: {error}", error)
    assert outer == f"A text could not continue: {error}"
    assert (
        outer == "A text could not continue: top_k must be a whole number, got 0.5; use 1 to 2,000."
    )
    with speaking("de"):
        assert told(outer).startswith(
            "Ein Text konnte nicht weitergehen: top_k muss eine ganze Zahl sein, gegeben: 0,5; "
        )
        assert told(outer).endswith("2.000.")
        with pytest.raises(Wrong) as wrong:
            convert({"steps": [0, 1.5]}, dict[str, list[Whole | None]])
        assert told(damaged(Wrong("steps[1].rank", wrong.value.problem))) == (
            "Die Aufzeichnung ist beschädigt bei Schritt 1: rank muss eine ganze Zahl oder nichts "
            "sein, gegeben: etwas anderes; die Aufzeichnung neu speichern oder eine andere Datei "
            "wählen."
        )
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
    notes = {
        why
        for snippet in snippets(settings, "a", model="gpt2", max_tokens=4, negative_prompt="b")
        for _, why in (*snippet.lacking, *snippet.differs)
    }
    assert len(notes) > 20
    with speaking("de"):
        for why in notes:
            assert told(why) != why and not ENGLISH.search(told(why)), why
