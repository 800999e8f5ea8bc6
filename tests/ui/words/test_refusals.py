"""What the engine says in another language: all of it is found, translated, and recognised."""

import pickle
import re

import pytest

from engine.calculator.sources import in_folder, named, pasted
from engine.decoding.beam.settings import BeamSettings
from engine.decoding.decoder import Decoder
from engine.decoding.diffusion.settings import DiffusionSettings
from engine.errors import DecodingError
from engine.grammar.source import checked_source
from engine.measure.report import Report
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.sampling.stages import Banned, Constraint, LogitBias
from engine.snippets import snippets
from engine.text.stopping import checked_max_new_tokens, checked_stop_strings
from engine.tokenizing.tokens import checked_text
from engine.trace import FORMAT
from engine.trace.trace import Trace
from engine.trace.values import Wrong, refusal
from ui.words.engine_sentences import PLACE, engine_sentences, sites
from ui.words.language import engine_sentences as said_in
from ui.words.language import sentences, speaking
from ui.words.refusals import told

# Messages of other errors of the engine, passed on; those are found where they are made.
PASSED_ON = {
    "decoding/batch.py": 1,
    "decoding/contrastive.py": 1,
    "decoding/guidance.py": 1,
}


def test_every_error_of_the_engine_is_found():
    unread = [site.place for site in sites() if not site.is_read]
    assert len(sites()) > 300
    files = [place.partition(":")[0] for place in unread]
    assert {file: files.count(file) for file in files} == PASSED_ON, (
        f"write their texts where the scan of ui/words/engine_sentences.py follows them: {unread}"
    )


def test_every_sentence_has_a_translation_with_the_same_places():
    german = said_in("de")
    assert german.keys() == {*engine_sentences()}
    for english, said in german.items():
        assert sorted(PLACE.findall(said)) == sorted(PLACE.findall(english)), said
        assert "}{" not in english.replace("{{", "").replace("}}", ""), (
            f"nobody can tell where one value ends and the next begins: {english}"
        )


def test_the_browser_is_not_sent_what_the_engine_says():
    assert "The prompt is empty; type at least one character." not in sentences("de")


def filled(template: str, places: list[str]) -> str:
    """A template with a number in each place, as `places` counts them."""
    for number, place in enumerate(places):
        template = template.replace(place, f"<{number}>")
    return template.replace("{{", "{").replace("}}", "}")


def test_every_sentence_is_recognised_as_itself():
    with speaking("de"):
        for english, german in said_in("de").items():
            places = PLACE.findall(english)
            assert told(filled(english, places)) == filled(german, places)


def scripted(prompt="w1", **changes):
    return lambda model: Decoder(model, prompt, SamplingSettings(**changes))


def plain(make, *arguments, **named):
    return lambda model: make(*arguments, **named)


OF_SETTINGS = {
    "Top-p muss über 0 und höchstens 1 sein, gegeben: 1,4; 1 schaltet es aus, "
    "Temperatur 0 ist greedy.": plain(SamplingSettings, top_p=1.4),
    "Temperatur darf nicht negativ sein, gegeben: -1,0; 0 für greedy nehmen, oder 0,000001 und "
    "mehr (1 ändert nichts).": plain(SamplingSettings, temperature=-1.0),
    "seed liegt außerhalb des Bereichs, gegeben: -3; eine ganze Zahl von 0 bis ": plain(
        SamplingSettings, seed=-3
    ),
    "topp ist keine Einstellung, gegeben: 3; bekannt sind ": plain(SamplingSettings, topp=3),
    "dry.last_n muss -1 oder mindestens 1 sein, gegeben: 0; ": plain(
        lambda: SamplingSettings(chain=[STAGES["dry"](last_n=0)])
    ),
    "width muss höchstens ": plain(BeamSettings, width=5_000),
    "remasking ist nicht bekannt, gegeben: 'none'; eines von ": plain(
        DiffusionSettings, steps=4, remasking="none"
    ),
    "forced_acceptance muss von 0 bis 1 sein, gegeben: 3; ": plain(
        SpeculativeSettings, forced_acceptance=3
    ),
    "max_new_tokens darf nicht negativ sein, gegeben: -1; ": plain(checked_max_new_tokens, -1),
    "stop_strings muss ein nicht leerer Text sein, gegeben: ''; den Text angeben, der die "
    "Erzeugung beendet, oder ihn weglassen.": plain(checked_stop_strings, ("",)),
    "Vorgabe ist kein regulärer Ausdruck bei Zeichen ": plain(checked_source, "regex", "a(b"),
    "Vorgabe prüft mit \\B die Nachbarzeichen, was keine Vorgabe kann, gegeben: ": plain(
        checked_source, "regex", "\\Ba"
    ),
    "Vorgabe ist leer, gegeben: ''; ": plain(checked_source, "choices", " "),
    "max_tokens muss mindestens 1 sein, gegeben: 0; zum Beispiel 64 nehmen.": plain(
        snippets, SamplingSettings(), "a", model="gpt2", max_tokens=0
    ),
}
OF_OTHERS = {
    "Der Prompt ist leer; mindestens ein Zeichen eingeben.": scripted(""),
    "Der Prompt enthält die Token-id 99.999, aber das Modell kennt die ids 0 bis ": scripted(
        [99_999]
    ),
    "Der Text ist leer; mindestens ein Zeichen eingeben.": plain(checked_text, ""),
    "Es gibt keinen Ordner 'nowhere/at all'; den Pfad eines Ordners mit einer config.json "
    "eingeben.": plain(in_folder, "nowhere/at all"),
    "Es gibt keine Form namens 'round'; eine von ": plain(named, "round"),
    "Der eingefügte Text ist kein gültiges JSON (": plain(pasted, "{"),
    "Die Datei ist keine Messung; eine Messung wählen, die diese App gespeichert hat.": plain(
        Report.from_json, "{}", {}
    ),
    "Dies ist keine Aufzeichnung des Dekodierens; eine Datei wählen, die diese App gespeichert "
    "hat.": plain(Trace.from_json, "{}"),
    "Die Aufzeichnung ist kein gültiges JSON (": plain(Trace.from_json, "["),
    "Diese Aufzeichnung hat die Formatversion ": plain(
        Trace.from_dict, {"format": FORMAT, "version": 10**6}
    ),
}
# Words of English that the German of the engine does not have.
ENGLISH = re.compile(r"\b(the|must|use|got|is|are|has|of|and|or|choose|type)\b")


@pytest.mark.parametrize("german", [*OF_SETTINGS, *OF_OTHERS])
def test_a_refusal_is_said_in_german_with_its_values(german, model):
    with pytest.raises(DecodingError) as refused:
        (OF_SETTINGS | OF_OTHERS)[german](model)
    error = refused.value
    if german in OF_SETTINGS:
        assert str(error).startswith(f"{error.setting} {error.problem}, got ")
        assert str(error).endswith(f"; {error.remedy}.")
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.problem) == (str(error), error.problem)
    with speaking("de"):
        said = told(error)
    assert said.startswith(german) and said.endswith(".")
    own = re.sub(r"\([^)]*\)", "", said)  # what others say, such as the reader of JSON
    assert not ENGLISH.search(own), said
    assert told(error) != said


def test_a_damaged_trace_is_said_in_german_at_its_place():
    with speaking("de"):
        assert told(refusal(Wrong("must be true or false").within("parity"), "step 3")) == (
            "Die Aufzeichnung ist beschädigt bei Schritt 3: parity muss true oder false sein; "
            "die Aufzeichnung neu speichern oder eine andere Datei wählen."
        )
        assert told(refusal(Wrong("is missing"))) == (
            "Die Aufzeichnung ist beschädigt: fehlt; "
            "die Aufzeichnung neu speichern oder eine andere Datei wählen."
        )


def test_what_is_not_of_the_engine_stays():
    with speaking("de"):
        assert told(DecodingError("Nobody knows this sentence.")) == "Nobody knows this sentence."
        inner = "A text could not go on: top_k must be a whole number, got 0.5; use one of them."
        assert told(inner) == (
            "Ein Text konnte nicht weitergehen: top_k muss eine ganze Zahl sein, gegeben: 0,5; "
            "eines davon nehmen."
        )


def test_notes_of_exported_code_are_said_in_german():
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


def test_a_hostile_text_in_a_message_is_read_as_fast_as_any():
    """Expressions with several places would go through millions of ways to share it among them."""
    with speaking("de"):
        for english in said_in("de"):
            pieces = PLACE.split(english)
            if len(pieces) > 3:
                hostile = (pieces[0] + "x" + "".join(piece * 300 for piece in pieces[1:-1]))[:999]
                assert isinstance(told(hostile + "!"), str)
