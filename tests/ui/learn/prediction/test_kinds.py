"""Kinds of predictions: the truth is the model's, computed as elsewhere in the engine."""

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Xtc
from ui.learn.lesson import lesson_model
from ui.learn.prediction.kinds import AnyPrediction
from ui.learn.prediction.prediction import PredictionError
from ui.learn.source import Refused, fitted
from ui.words.labels import token_label

PROMPT = "w1|w2"


def read(**data):
    return fitted({"key": "x", **data}, AnyPrediction)


def truth_of(prediction, model, prompt=PROMPT):
    bars = prediction.bars(model, prompt)
    return bars, prediction.truth(model, prompt, bars)


def probabilities(model, prompt=PROMPT, **settings) -> np.ndarray:
    decoder = Decoder(model, prompt, SamplingSettings(**settings))
    decoder.step()
    return decoder.distribution(0).probs


def test_named_tokens_or_leading_ones_sum_to_one(model):
    prediction = read(
        kind="next_token",
        prompt=PROMPT,
        tokens=[model.vocabulary.label(7)],
        settings={"temperature": 0.5},
        more_prompts=["w3"],
    )
    bars, truth = truth_of(prediction, model)
    probs = probabilities(model, temperature=0.5)
    assert bars.is_distribution and bars.labels[-1] == "All other tokens"
    assert truth == pytest.approx((probs[7], 1 - probs[7]))
    bars, truth = truth_of(prediction, model, "w3")  # another prompt has its own leading tokens
    leading = np.sort(probabilities(model, "w3", temperature=0.5))[::-1][:4]
    assert sorted(truth[:-1], reverse=True) == pytest.approx(leading)
    assert sum(truth) == pytest.approx(1) and len(bars.labels) == 5


def test_next_token_truth_includes_guidance_and_xtc(model):
    token = model.vocabulary.label(7)
    xtc = {"threshold": 0.3, "probability": 1.0}
    prediction = read(
        kind="next_token",
        prompt=PROMPT,
        tokens=[token],
        settings={"xtc": xtc, "seed": 1},
        negative_prompt="w3",
        guidance_scale=2.0,
    )
    _, truth = truth_of(prediction, model)
    settings = SamplingSettings(xtc=Xtc(**xtc), seed=1)
    decoder = Decoder(model, PROMPT, settings, negative_prompt="w3", guidance_scale=2.0)
    assert truth[0] == pytest.approx(decoder.next_distribution().probs[7])


def test_text_of_several_tokens_is_refused(model):
    prediction = read(kind="next_token", prompt=PROMPT, tokens=["w1|w2"])
    with pytest.raises(PredictionError, match="needs one"):
        prediction.bars(model, PROMPT)


def test_against_setting_computes_entropy_per_temperature(model):
    values = [0, 0.5, 1, 2]
    prediction = read(
        kind="against_setting",
        prompt=PROMPT,
        figure="entropy",
        setting="temperature",
        values=values,
        high=12,
    )
    bars, truth = truth_of(prediction, model)
    assert (bars.axis, bars.labels, bars.high) == ("Temperature", ("0", "0.5", "1", "2"), 12)
    probs = [probabilities(model, temperature=value) for value in values]
    expected = [-sum(p * np.log2(p) for p in row if p > 0) for row in probs]
    assert truth == pytest.approx(expected, abs=1e-9)
    assert truth[0] == 0 and list(truth) == sorted(truth)


def test_per_step_figures_follow_the_generated_text(model):
    settings = {"top_p": 0.9, "seed": 4}
    prediction = read(
        kind="per_step", prompt=PROMPT, figure="tokens_kept", steps=5, high=40, settings=settings
    )
    bars, truth = truth_of(prediction, model)
    decoder = Decoder(model, PROMPT, SamplingSettings(**settings))
    assert truth == tuple(decoder.step().survivors for _ in range(5))
    assert bars.labels == ("1", "2", "3", "4", "5")
    labels = prediction.revealed_labels(model, PROMPT, bars)
    assert labels == tuple(
        f"{place} {token_label(step.text)}" for place, step in enumerate(decoder.steps, start=1)
    )
    model = lesson_model()
    (end,) = model.eos_ids  # a token without text
    biased = {"logit_bias": {"bias": [[end, 1000]]}}
    data = {"kind": "per_step", "prompt": PROMPT, "figure": "tokens_kept", "settings": biased}
    prediction = read(**data, steps=3, high=40)
    labels = prediction.revealed_labels(model, PROMPT, prediction.bars(model, PROMPT))
    assert labels[0] == f"1 {model.vocabulary.label(end)}"


def test_kept_share_uses_the_model_probabilities(model):
    values = [1, 3, 0]
    data = {"prompt": PROMPT, "figure": "kept_share", "setting": "top_k", "values": values}
    _, truth = truth_of(read(kind="against_setting", **data), model)
    probs = np.sort(probabilities(model))[::-1]
    assert truth == pytest.approx([probs[0], probs[:3].sum(), 1.0], abs=1e-6)


def test_model_probabilities_ignore_the_settings(model):
    data = {"kind": "per_step", "prompt": PROMPT, "steps": 3, "settings": {"temperature": 0}}
    _, own = truth_of(read(figure="model_probability", **data), model)
    _, end = truth_of(read(figure="end_probability", **data), model)
    decoder = Decoder(model, PROMPT, SamplingSettings(temperature=0))
    for index in range(3):
        step = decoder.step()
        raw = decoder.distribution(index, SamplingSettings()).probs
        assert own[index] == pytest.approx(raw[step.token_id], abs=1e-6)
        assert end[index] == pytest.approx(raw[list(model.eos_ids)].sum(), abs=1e-6)


def test_tokens_per_word_include_the_leading_space(model):
    prediction = read(kind="tokens_per_word", prompt="ab  w1 é", high=9)
    bars, truth = truth_of(prediction, model, "ab  w1 é")
    assert (bars.labels, bars.is_curve) == (("ab", "␣w1", "␣é"), False)
    encode = model.vocabulary.encode
    assert truth == tuple(len(encode(word)) for word in ("ab", " w1", " é"))
    with pytest.raises(PredictionError, match="has 1 words"):
        prediction.bars(model, "ab")


def test_against_input_measures_each_whole_text():
    model, prompt = lesson_model(), "At the end of the day,"
    prediction = read(**SEARCH | {"prompt": prompt})
    bars, truth = truth_of(prediction, model, prompt)
    assert (bars.axis, bars.labels, bars.low) == ("Width", ("1", "2"), -9)
    for width, logprob in zip((1, 2), truth, strict=True):
        search = BeamSearch(model, prompt, BeamSettings(width=width, max_new_tokens=3))
        list(search.run())
        assert logprob == pytest.approx(search.hypotheses[0].logprob, abs=1e-5)


@pytest.mark.parametrize("figure", ["top_probability", "chosen_probability", "milliseconds"])
def test_every_per_step_figure_is_computed(model, figure):
    settings = {"temperature": 0}
    prediction = read(
        kind="per_step", prompt=PROMPT, figure=figure, steps=2, high=1, settings=settings
    )
    _, truth = truth_of(prediction, model)
    assert all(value > 0 for value in truth)
    if figure != "milliseconds":
        assert truth == (1.0, 1.0), "greedy leaves one token"


SEARCH = {
    "kind": "against_input",
    "prompt": "x",
    "panel": {"kind": "beam", "inputs": {"max_new_tokens": 3}},
    "input": "width",
    "values": [1, 2],
    "figure": "logprob",
    "low": -9,
    "high": 0,
}
NEXT = {"kind": "next_token", "prompt": "x"}
CURVE = {"kind": "against_setting", "prompt": "x", "figure": "entropy", "setting": "temperature"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "next"}, "kind must be one of those this version knows, got 'next'"),
        (NEXT | {"prompt": ""}, "prompt must be"),
        (NEXT | {"tokens": ["a", "a"]}, 'tokens has the key "a" twice'),
        (NEXT | {"settings": {"top_p": 2}}, "settings is refused: top_p"),
        (NEXT | {"guidance_scale": 0.5}, "guidance_scale is refused"),
        (CURVE | {"values": [1, 2]}, "high is missing"),
        (CURVE | {"values": [1], "high": 1}, "values must be a list"),
        (CURVE | {"values": [-1, 1], "high": 1}, "values is refused: temperature"),
        (CURVE | {"values": [1, 2], "high": 0}, "high is 0, not above low, 0"),
        (SEARCH | {"panel": {"kind": "step"}}, "panel.kind must be"),
        (SEARCH | {"input": "early_stopping"}, 'input names "early_stopping"'),
        (SEARCH | {"values": [0.5, 1e300]}, "values is refused: Its width"),
        (SEARCH | {"figure": "price"}, 'figure names "price"'),
        (SEARCH | {"settings": {}}, "settings is not known"),
    ],
)
def test_mistake_in_a_prediction_file_is_explained(data, said):
    with pytest.raises(Refused) as refused:
        read(**data)
    assert said in str(refused.value)
