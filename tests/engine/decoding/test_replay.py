"""Replay of a trace: identical, or the first difference and its reason."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.decoding.replay import begin, changed_facts, replay
from engine.errors import TraceError
from engine.model import LanguageModel, fill_gaps
from engine.model.load import load_diffusion_model
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Mirostat, Xtc
from engine.trace import Trace
from tests.bundled import bundled
from tests.engine import tiny_models
from tests.engine.traces import OLD_TRACES

PROMPT = tiny_models.prompt(0)
NEGATIVE = tiny_models.prompt(1)
FORCED = 6


def eventful(model: LanguageModel, prompt, **guided) -> Decoder:
    """A text with changing settings, two stages with a state, a forced token, and a rewind."""
    first = SamplingSettings(temperature=1.1, top_p=0.95, seed=11)
    xtc = SamplingSettings(temperature=1.3, xtc=Xtc(probability=0.6, threshold=0.05), seed=11)
    mirostat = SamplingSettings(temperature=1.2, mirostat=Mirostat(tau=3.0, eta=0.2), seed=12)
    text = Decoder(model, prompt, first, stop_strings=["\n\n"], **guided)
    for _ in range(3):
        text.step()
    text.settings = xtc
    for _ in range(3):
        text.step()
    text.step((text.next_distribution().candidates(1)[0].token_id + 1) % model.vocab_size)
    text.settings = mirostat
    for _ in range(5):
        text.step()
    text.rewind(9)  # the next step takes its logits from the record
    if guided:
        text.guidance_scale = 1.0
    for _ in text.run(14):
        pass
    return text


def searched(model: LanguageModel, prompt) -> ContrastiveSearch:
    text = ContrastiveSearch(model, prompt, 4, 0.6)
    text.step()
    text.penalty_alpha = 0.3
    text.step()
    text.step()
    text.rewind(2)
    text.step()
    return text


def filled() -> DiffusionDecoder:
    model = load_diffusion_model()
    settings = DiffusionSettings(steps=3, temperature=0.8, seed=4, remasking="entropy")
    text = DiffusionDecoder(model, fill_gaps(model, "The [6] sat on the mat."), settings)
    text.step()
    text.step()
    return text


MADE: dict[str, Callable] = {
    "sampled": lambda model: eventful(model, PROMPT),
    "guided": lambda model: eventful(model, PROMPT, negative_prompt=NEGATIVE, guidance_scale=1.7),
    "contrastive": lambda model: searched(model, PROMPT),
}


@pytest.mark.parametrize("way", MADE)
def test_loaded_trace_replays_identically(way, tmp_path):
    model = tiny_models.shared("llama")
    trace = Trace.load(MADE[way](model).trace().save(tmp_path / "run.json"))
    told = []
    found = replay(trace, model, progress=lambda *done: told.append(done))
    assert found.identical, found
    assert found.sentence == f"The text is identical in all {len(trace.steps)} steps."
    assert (found.facts, found.token_at, found.stopped) == ((), None, False)
    assert told == [(done, len(trace.steps)) for done in range(len(trace.steps) + 1)]


@pytest.mark.parametrize("way", MADE)
def test_brief_trace_restores_text_and_figures(way):
    model = tiny_models.shared("llama")
    own = MADE[way](model)
    brief = Trace.from_json(json.dumps(own.trace().to_dict(brief=True)))
    assert len(brief.to_json()) < len(own.trace().to_json()) / 2
    text = begin(brief, model)
    assert replay(brief, model, text=text).identical
    assert replay(own.trace(), model, text=text).repeated == len(own.steps), "nothing is left to do"
    again, whole = text.trace(), own.trace()
    assert replace(again, steps=()) == replace(whole, steps=())
    assert [step.probability for step in rows(again)] == [step.probability for step in rows(whole)]
    other = Trace.from_dict(brief.to_dict() | {"settings": whole.settings[:1]})
    assert brief.shared_with(brief) == len(brief.steps)
    assert brief.shared_with(other) == whole.settings[1][0], "with other settings from there on"


def rows(trace: Trace) -> list:
    if trace.strategy == "contrastive":
        return [step.candidates[step.chosen] for step in trace.steps]
    return list(trace.steps)


def test_replay_continues_past_a_difference_with_to_end(sampled):
    trace = altered(sampled, 3, token_id=1)
    text = begin(trace, tiny_models.shared("llama"))
    found = replay(trace, text.model, text=text, to_end=True)
    assert found.token_at == 3 and found.repeated == len(text.steps) == len(trace.steps)


@pytest.mark.parametrize("architecture", ["gemma2", "jamba"])
def test_trace_replays_identically_on_other_architectures(architecture):
    model = tiny_models.shared(architecture)
    for way in ("sampled", "guided"):
        found = replay(MADE[way](model).trace(), model)
        assert found.identical, (way, found)


def test_parity_text_of_the_bundled_model_replays_identically():
    model = bundled()
    text = Decoder(model, "Once upon a time", SamplingSettings(top_k=30, parity=True))
    list(text.run(6))
    found = replay(text.trace(), model)
    assert found.identical, found


def test_an_altered_canvas_figure_is_found_at_its_place():
    text = filled()
    trace = text.trace()
    step = trace.steps[1]
    place = step.unmasked[0]
    confidence = list(step.confidence)
    confidence[place] += 0.01
    changed = altered(trace, 1, confidence=tuple(confidence))
    found = replay(changed, text.model)
    assert (found.first, found.token_at) == (1, None)
    assert [each.what for each in found.differences] == [f"confidence[{place}]"]


def kept(values: dict, older: dict) -> dict:
    """Return only the values that an older file also has."""
    return {
        name: kept(value, older[name]) if isinstance(value, dict) else value
        for name, value in values.items()
        if name in older
    }


@pytest.mark.parametrize("way", MADE)
def test_trace_without_newer_fields_still_replays(way):
    model = tiny_models.shared("llama")
    data = MADE[way](model).trace().to_dict()
    older = Trace.load(OLD_TRACES / f"{data['strategy']}-2.json").to_dict()
    data["model"] = kept(data["model"], older["model"])
    ((_, names), *_) = older["settings"]
    data["settings"] = [[first, kept(values, names)] for first, values in data["settings"]]
    assert "attention" not in data["model"]
    found = replay(Trace.from_json(json.dumps(data)), model)
    assert found.identical and found.facts == (), found


def altered(trace: Trace, index: int, **changes) -> Trace:
    steps = list(trace.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(trace, steps=tuple(steps))


@pytest.fixture(scope="module")
def sampled() -> Trace:
    return eventful(tiny_models.shared("llama"), PROMPT).trace()


@pytest.mark.parametrize("index", [0, 9, 13])
def test_an_altered_token_is_found_at_its_step(sampled, index):
    token_id = (sampled.steps[index].token_id + 1) % tiny_models.VOCAB
    found = replay(altered(sampled, index, token_id=token_id), tiny_models.shared("llama"))
    assert (found.first, found.token_at, found.repeated) == (index, index, index + 1)
    (difference,) = found.differences
    assert (difference.what, difference.by) == ("token_id", None)
    assert (difference.recorded, difference.repeated) == (
        token_id,
        sampled.steps[index].token_id,
    )
    start = f"Step {index} is the first to differ: token_id was {token_id} and is"
    assert found.sentence.startswith(start)
    assert "so either the file or the weights were changed" in found.sentence


def test_altered_forced_token_is_found_by_its_logit(sampled):
    step = sampled.steps[FORCED]
    assert step.forced
    token_id = (step.token_id + 1) % tiny_models.VOCAB
    found = replay(altered(sampled, FORCED, token_id=token_id), tiny_models.shared("llama"))
    assert found.first == FORCED and "logit" in [each.what for each in found.differences]


@pytest.mark.parametrize(
    ("index", "name"), [(0, "logit"), (5, "probability"), (13, "final_entropy_bits")]
)
def test_an_altered_figure_is_found_at_its_step(sampled, index, name):
    value = getattr(sampled.steps[index], name)
    found = replay(altered(sampled, index, **{name: value + 0.25}), tiny_models.shared("llama"))
    assert (found.first, found.token_at) == (index, None)
    (difference,) = found.differences
    assert (difference.what, difference.repeated) == (name, value)
    assert difference.by == pytest.approx(0.25)
    assert "(0.25 apart). The tokens are the same to the end. " in found.sentence
    assert found.repeated == found.steps and not found.identical


@pytest.mark.parametrize("way", ["sampled", "guided"])
def test_leading_tokens_match_the_steps_row(way):
    text = MADE[way](tiny_models.shared("llama"))
    for step in Trace.from_json(text.trace().to_json()).steps:
        found, leading = text.distribution(step.index), step.leading
        order = np.lexsort((np.arange(found.logits.size), -found.logits))[:10]
        assert list(leading.token_ids) == order.tolist()
        assert list(leading.scores) == found.logits[order].tolist()
        assert list(leading.probabilities) == pytest.approx(found.probs[order], rel=1e-6)
        own = found.raw.all_weights / found.raw.total
        assert step.model_probabilities == pytest.approx(own[order], rel=1e-6)


def test_difference_within_a_step_names_its_place(sampled):
    model, step = tiny_models.shared("llama"), sampled.steps[1]
    (temperature, top_p), scores = step.stages, list(step.leading.scores)
    scores[2] = 0.5
    for changes, what in [
        ({"stages": (temperature, replace(top_p, survivors=99))}, "stages[1].survivors"),
        ({"leading": replace(step.leading, scores=scores)}, "leading.scores[2]"),
        ({"stop_reason": "eos"}, "stop_reason"),
    ]:
        found = replay(altered(sampled, 1, **changes), model)
        assert (found.first, [each.what for each in found.differences]) == (1, [what])
    trace = searched(model, PROMPT).trace()
    candidates = list(trace.steps[2].candidates)
    candidates[1] = replace(candidates[1], penalty=candidates[1].penalty - 0.5)
    found = replay(altered(trace, 2, candidates=tuple(candidates)), model)
    assert (found.first, found.token_at) == (2, None)
    assert [each.what for each in found.differences] == ["candidates[1].penalty"]


@pytest.mark.parametrize("run", [0, 2])
def test_altered_seed_is_found_at_its_first_draw(sampled, run):
    settings = list(sampled.settings)
    first, values = settings[run]
    settings[run] = (first, values | {"seed": 99})
    found = replay(replace(sampled, settings=tuple(settings)), tiny_models.shared("llama"))
    forced = next(i for i in range(first, 14) if not sampled.steps[i].forced)
    assert found.first == forced
    assert "u" in [each.what for each in found.differences]


def test_replay_compares_stop_strings_unless_set_later(text_model):
    text = Decoder(text_model, "the cat", SamplingSettings(temperature=1.0, seed=3))
    list(text.run(12))
    stop = text.text[4:6]
    stopped = Decoder(text_model, "the cat", text.settings, stop_strings=stop)
    list(stopped.run(12))
    assert stopped.stop_reason == "stop_string"
    trace = stopped.trace()
    assert replay(trace, text_model).identical
    last = len(trace.steps) - 1
    changed = altered(trace, last, stop_reason="context", stop_string=None)
    assert replay(changed, text_model).first == last
    text.stop_strings = stop  # set after the run; a trace cannot tell this from before
    assert replay(text.trace(), text_model).identical
    stopped.stop_strings = ()
    assert replay(stopped.trace(), text_model).identical


def test_replay_names_changed_facts_as_the_reason(sampled):
    model = tiny_models.shared("llama")
    facts = sampled.model | {"torch": "1.0", "dtype": "float16", "name": "other"}
    facts["kernels"] = facts["kernels"] | {"instructions": "VSX"}
    changed = replace(altered(sampled, 2, logit=99.0), model=facts)
    assert [(each.name, each.recorded) for each in changed_facts(changed, model)] == [
        ("dtype", "float16"),
        ("torch", "1.0"),
        ("kernels.instructions", "VSX"),
    ]
    found = replay(changed, model)
    assert found.sentence.endswith(
        f"A possible reason: dtype was 'float16' and is now 'float32'; torch was '1.0' and is now "
        f"{model.facts['torch']!r}; kernels.instructions was 'VSX' and is now "
        f"{model.facts['kernels']['instructions']!r}."
    )
    older = {name: value for name, value in sampled.model.items() if name != "attention"}
    assert replay(replace(sampled, model=older), model).facts == ()


def test_other_weights_are_found_at_once(sampled):
    found = replay(sampled, tiny_models.shared("llama", 1))
    assert found.first == 0 and [fact.name for fact in found.facts] == ["weights_hash"]
    assert {"logit", "probability"} <= {each.what for each in found.differences}


def test_replay_can_be_stopped(sampled):
    asked = []
    found = replay(
        sampled,
        tiny_models.shared("llama"),
        should_stop=lambda: asked.append(1) or len(asked) > 4,
    )
    assert (found.repeated, found.stopped, found.identical) == (4, True, False)
    assert found.sentence == f"Stopped after 4 steps of {len(sampled.steps)}, all identical."


def refused(trace: Trace, model, said: str) -> None:
    with pytest.raises(TraceError, match=rf"{said}.*; load the model that the trace names, '"):
        replay(trace, model)


def test_another_vocabulary_or_tokenizer_is_refused(sampled, text_model):
    refused(sampled, text_model, "a vocabulary of 96 tokens, and tiny text model has 3")
    size = {"vocab_size": text_model.vocab_size, "input_size": text_model.input_size}
    same_size = replace(sampled, model=sampled.model | size)
    refused(same_size, text_model, "a different tokenizer from that of tiny text model")


def test_another_kind_of_model_is_refused(sampled):
    text = filled()
    refused(sampled, text.model, "strategy sampling needs a causal language model")
    refused(text.trace(), tiny_models.shared("llama"), "strategy diffusion needs a diffusion model")


def test_a_trace_without_settings_is_refused(sampled):
    with pytest.raises(TraceError, match="no settings for step 0"):
        replay(replace(sampled, settings=()), tiny_models.shared("llama"))


def test_trace_without_steps_replays_identically():
    model = tiny_models.shared("llama")
    for text in (Decoder(model, PROMPT), ContrastiveSearch(model, PROMPT)):
        found = replay(text.trace(), model)
        assert found.identical and found.steps == 0
