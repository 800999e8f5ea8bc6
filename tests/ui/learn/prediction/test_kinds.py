"""What is predicted: the truth is the model's, computed as the engine computes it elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.sampling import SamplingSettings
from engine.sampling.stages import Xtc
from ui.learn.prediction.kinds import read_prediction
from ui.learn.prediction.prediction import PredictionError
from ui.learn.source import LessonError, Table

PROMPT = "w1|w2"


def read(**data):
    table = Table(data, Path("lessons/made_up/lesson.toml"), "steps.one.predictions.x")
    prediction = read_prediction(table)
    table.end()
    return prediction


def truth_of(prediction, model, prompt=PROMPT):
    bars = prediction.bars(model, prompt)
    return bars, prediction.truth(model, prompt, bars)


def probabilities(model, prompt=PROMPT, **settings) -> np.ndarray:
    decoder = Decoder(model, prompt, SamplingSettings(**settings))
    decoder.step()
    return decoder.distribution(0).probs


def test_named_tokens_and_all_others_share_the_whole_probability(model):
    token = model.vocabulary.label(7)
    prediction = read(
        kind="next_token", prompt=PROMPT, tokens=[token], settings={"temperature": 0.5}
    )
    bars, truth = truth_of(prediction, model)
    probs = probabilities(model, temperature=0.5)
    assert bars.is_distribution and bars.labels[-1] == "All other tokens"
    assert truth == pytest.approx((probs[7], 1 - probs[7]))


def test_another_prompt_has_leading_tokens_of_its_own(model):
    token = model.vocabulary.label(7)
    prediction = read(kind="next_token", prompt=PROMPT, tokens=[token], more_prompts=["w3"])
    bars, truth = truth_of(prediction, model, "w3")
    leading = np.sort(probabilities(model, "w3"))[::-1][:4]
    assert sorted(truth[:-1], reverse=True) == pytest.approx(leading)
    assert sum(truth) == pytest.approx(1)
    assert len(bars.labels) == 5


def test_the_next_token_is_predicted_under_guidance_and_a_sampler_of_several_numbers(model):
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
    with pytest.raises(LessonError, match="guidance_scale is refused: Guidance scale must be from"):
        read(kind="next_token", prompt=PROMPT, guidance_scale=0.5)


def test_a_text_of_several_tokens_is_refused_by_name(model):
    prediction = read(kind="next_token", prompt=PROMPT, tokens=["w1|w2"])
    with pytest.raises(PredictionError, match="tokens in hostile, and this prediction needs one"):
        prediction.bars(model, PROMPT)


def test_a_figure_against_a_setting_is_of_the_same_logits(model):
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


def test_a_figure_per_step_is_of_the_text_that_is_generated(model):
    settings = {"top_p": 0.9, "seed": 4}
    prediction = read(
        kind="per_step", prompt=PROMPT, figure="tokens_kept", steps=5, high=40, settings=settings
    )
    bars, truth = truth_of(prediction, model)
    decoder = Decoder(model, PROMPT, SamplingSettings(**settings))
    assert truth == tuple(decoder.step().survivors for _ in range(5))
    assert bars.labels == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("figure", ["top_probability", "chosen_probability", "milliseconds"])
def test_all_figures_of_a_step(model, figure):
    settings = {"temperature": 0}
    prediction = read(
        kind="per_step", prompt=PROMPT, figure=figure, steps=2, high=1, settings=settings
    )
    _, truth = truth_of(prediction, model)
    assert all(value > 0 for value in truth)
    if figure != "milliseconds":
        assert truth == (1.0, 1.0), "greedy leaves one token"


CURVE = {"kind": "against_setting", "prompt": "x", "figure": "entropy", "setting": "temperature"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "next"}, 'kind is "next", which is not known; use one of next_token'),
        ({"kind": "next_token"}, "prompt is missing"),
        ({"kind": "next_token", "prompt": ""}, "prompt is empty"),
        ({"kind": "next_token", "prompt": "x", "tokens": ["a", "a"]}, "has a token twice"),
        ({"kind": "next_token", "prompt": "x", "token": ["a"]}, "token is not known here"),
        (
            {"kind": "next_token", "prompt": "x", "settings": {"top_p": 2}},
            "settings is refused: top_p must be above 0",
        ),
        (CURVE | {"values": [1, 2]}, "high is missing"),
        (CURVE | {"values": [1], "high": 1}, "values has 1 values; list 2 to 32"),
        (CURVE | {"values": [-1, 1], "high": 1}, "has one that is refused: temperature must not"),
        (CURVE | {"values": [1, 2], "high": 0}, "high is 0, not above low, 0"),
        (CURVE | {"figure": "milliseconds"}, "which is not known"),
        (
            {"kind": "per_step", "prompt": "x", "figure": "entropy", "steps": 99, "high": 1},
            "steps is 99; use 2 to 32",
        ),
    ],
)
def test_a_mistake_in_a_file_is_a_sentence(data, said):
    with pytest.raises(LessonError) as refused:
        read(**data)
    assert str(refused.value).startswith("made_up/lesson.toml: steps.one.predictions.x.")
    assert said in str(refused.value)
