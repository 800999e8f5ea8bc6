"""The examples show what they claim, on the bundled model, with margins for other processors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.sampling import STAGES, SamplingSettings
from tests.bundled import bundled as model
from ui.texts.examples import (
    CHAT_EXAMPLES,
    EXAMPLES,
    NEUTRAL,
    Example,
    examples_of,
    written_for,
)
from ui.texts.settings import FIRST, is_one_number, parse_settings

BY_NAME = {example.name: example for example in EXAMPLES}


def run(name: str, count: int, seed: int = 0, **changes: float) -> Decoder:
    example = BY_NAME[name]
    settings = SamplingSettings(**NEUTRAL | example.settings | changes, seed=seed)
    decoder = Decoder(
        model(),
        example.prompt,
        settings,
        negative_prompt=example.negative_prompt,
        guidance_scale=example.guidance_scale,
    )
    list(decoder.run(count))
    return decoder


def label(token_id: int) -> str:
    return model().vocabulary.label(token_id)


def probabilities(decoder: Decoder, index: int = 0) -> dict[str, float]:
    """Return the model's own ten likeliest tokens of a step, best first."""
    raw = np.asarray(decoder.logits(index), np.float64)
    probs = np.exp(raw - raw.max())
    probs /= probs.sum()
    return {label(int(i)): float(probs[i]) for i in np.argsort(-probs)[:10]}


def entropy(decoder: Decoder, index: int = 0) -> float:
    return decoder.steps[index].model_entropy_bits


def test_page_gets_the_measured_settings_of_every_example():
    assert len(BY_NAME) == len({example.prompt for example in EXAMPLES}) == len(EXAMPLES)
    assert "The capital of France is" in {example.prompt for example in EXAMPLES}
    assert len({example.prompt for example in CHAT_EXAMPLES}) == 10
    for example in (*EXAMPLES, *CHAT_EXAMPLES):
        assert len(example.name) <= 26 and len(example.look_at) <= 170, "they fit on the page"
        assert example.settings.keys() <= STAGES.keys()
        assert all(map(is_one_number, example.settings))
        chosen, order = parse_settings(json.loads(json.dumps(example.to_dict()["settings"])))
        assert chosen == SamplingSettings(**NEUTRAL | example.settings)
        assert order == tuple(name for name in STAGES if name in (*FIRST, *example.settings))
    assert SamplingSettings(**NEUTRAL) == SamplingSettings()
    order = BY_NAME["Greedy loop"].to_dict()["settings"]["order"]
    assert order == ["repetition_penalty", *FIRST]


def test_other_models_get_a_remark():
    assert examples_of(model()) == EXAMPLES and written_for(model()) == ""
    other = SimpleNamespace(source="other", vocabulary=SimpleNamespace(has_chat_template=True))
    assert examples_of(other) == CHAT_EXAMPLES
    assert "written for SmolLM2" in written_for(other)
    other.source = "smollm2"
    assert written_for(other) == ""


def test_page_gets_every_slider_in_a_copy():
    example = Example("a", "b", "c", {"temperature": 0.0})
    sent = example.to_dict()
    assert sent == {
        "name": "a",
        "prompt": "b",
        "look_at": "c",
        "settings": {"order": list(FIRST), **NEUTRAL, "temperature": 0.0},
        "negative_prompt": None,
        "guidance_scale": 1.0,
        "strategy": None,
        "chat": False,
        "before": [],
        "steps": 0,
    }
    sent["settings"]["top_k"] = 9
    sent["settings"]["order"].append("xtc")
    assert NEUTRAL["top_k"] == 0 and example.settings == {"temperature": 0.0}
    assert "xtc" not in FIRST


def test_the_first_example_begins_with_a_real_choice():
    first = run(EXAMPLES[0].name, 1)
    assert 3 < entropy(first) < 5
    likely = probabilities(first)
    two = list(likely.values())[:2]
    assert two[0] < 0.4 and two[1] > 0.15 and 0.4 < sum(two) < 0.6
    assert list(likely)[:2] == [" girl", " boy"]
    assert all(token.startswith(" ") and token.strip().isalpha() for token in likely), likely


def test_certain_fact_is_predicted_confidently():
    fact = run("Certain fact", 1)
    assert label(fact.token_ids[0]) == " Paris"
    assert probabilities(fact)[" Paris"] > 0.9 and entropy(fact) < 0.6


def test_wrong_sum_is_predicted_confidently():
    likely = probabilities(run("Confident and wrong", 1))
    assert next(iter(likely)) == " one" and likely[" one"] == pytest.approx(0.96, abs=0.03)


def test_fork_example_has_many_likely_tokens():
    fork = run("Many likely tokens", 1)
    assert entropy(fork) > 6
    assert max(probabilities(fork).values()) < 0.1


def test_nucleus_changes_from_narrow_to_wide():
    survivors = [step.survivors for step in run("Certain, then uncertain", 25).steps]
    assert max(survivors[:2]) <= 3
    assert min(survivors) == 1 and max(survivors) >= 30


def longest_repetition(ids: list[int]) -> int:
    """Count the tokens at the end that repeat one stretch of at most 12."""
    lengths = []
    for period in range(1, 13):
        same = 0
        while same + period < len(ids) and ids[-1 - same] == ids[-1 - same - period]:
            same += 1
        lengths.append(same)
    return max(lengths)


def test_penalty_breaks_the_greedy_loop():
    assert longest_repetition(run("Greedy loop", 60).token_ids) >= 30
    assert longest_repetition(run("Greedy loop", 60, repetition_penalty=1.3).token_ids) < 12


def test_min_p_limits_ranks_at_high_temperature():
    hot = run("High T with min-p", 20)
    assert hot.distribution(0).entropy_bits > entropy(hot) + 5
    cold = run("High T with min-p", 20, min_p=0)
    assert max(step.rank for step in hot.steps) < 100
    assert np.median([step.rank for step in cold.steps]) > 100
    assert hot.steps[0].survivors < 40 < 4000 < cold.steps[0].survivors


def test_guidance_lifts_the_rabbit_over_boy_and_girl():
    example = BY_NAME["Guidance"]
    alone = SamplingSettings(**NEUTRAL)
    plain = Decoder(model(), example.prompt, alone)
    plain.step()
    assert list(probabilities(plain))[:2] == [" boy", " girl"]
    guided = run("Guidance", 1).distribution(0)
    ids = {word: model().vocabulary.encode(f" {word}")[0] for word in ("rabbit", "boy", "girl")}
    shares = {word: float(guided.probs[token_id]) for word, token_id in ids.items()}
    assert shares["rabbit"] > 0.4 and max(shares["boy"], shares["girl"]) < 0.1


def test_contrastive_search_avoids_the_greedy_loop():
    example = BY_NAME["Contrastive search"]
    assert longest_repetition(run(example.name, 60, temperature=0.0).token_ids) >= 30
    found = ContrastiveSearch(
        model(), example.prompt, example.strategy.top_k, example.strategy.penalty_alpha
    )
    list(found.run(60))
    assert longest_repetition(found.token_ids) < 8
    assert any(step.chosen > 0 for step in found.steps)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
def test_list_continues_with_numbered_items(seed):
    decoder = run("List", 16, seed)
    assert "\n2." in decoder.text and "\n3." in decoder.text
    assert entropy(decoder) > 3, "the fruit is open"
    breaks = [i for i, token_id in enumerate(decoder.token_ids) if label(token_id) == "\n"]
    for place in breaks[:2]:
        assert decoder.steps[place + 1].probability > 0.9, "the number is not"
        assert decoder.steps[place + 2].probability > 0.9


def test_the_dialogue_has_both_sides():
    decoder = run("Dialogue", 60)
    assert "\nUser:" in decoder.text
    labels = [label(token_id) for token_id in decoder.token_ids]
    after = [place + 1 for place, text in enumerate(labels[:-1]) if text == "\n"]
    assert after and all(labels[place] in ("User", "Assistant") for place in after)
    assert all(decoder.steps[place].probability > 0.9 for place in after)


def test_json_example_is_valid_with_uncertain_values():
    decoder = run("JSON", 80, temperature=0.0)
    assert decoder.stop_reason == "eos"
    value = json.loads(BY_NAME["JSON"].prompt + decoder.text)
    assert {"name", "age"} <= value.keys()
    assert entropy(decoder) > 4, "the name is open"
    labels = [label(token_id) for token_id in decoder.token_ids]
    for text in ("age", '":', "city"):
        assert probabilities(decoder, labels.index(text))[text] > 0.9


def test_rare_word_is_split_and_continues_wrongly():
    ids = model().vocabulary.encode(" rhinoceros")
    assert len(ids) >= 3
    likely = probabilities(run("Rare word", 1))
    assert next(iter(likely)) != " animal" and likely.get(" animal", 0) < 0.2


def test_digits_are_single_tokens_and_sum_is_wrong():
    likely = probabilities(run("Digits", 1))
    assert all(token.strip().isdigit() for token in list(likely)[:9])
    assert next(iter(likely)) != " 7"
    assert [label(i) for i in model().vocabulary.encode("1234")] == ["1", "2", "3", "4"]


def test_emoji_is_split_into_bytes():
    vocabulary = model().vocabulary
    ids = vocabulary.encode(BY_NAME["Emoji and bytes"].prompt)
    broken = [label(token_id) for token_id in ids if label(token_id).startswith("<0x")]
    assert len(broken) >= 8 and "\u200d" in BY_NAME["Emoji and bytes"].prompt
    spelled = b"".join(vocabulary.token_bytes(token_id) for token_id in ids)
    assert spelled.decode() == BY_NAME["Emoji and bytes"].prompt
