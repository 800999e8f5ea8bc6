"""Links of the step page: what a session puts in, and what another page shows of it."""

import pytest

from engine.sampling import SamplingSettings
from tests.ui.step.visitor import PROMPT
from ui.step.linked import opened
from ui.visits.link import Link, address


def shown(session, **changes):
    link = session.link()
    values = link.values | changes
    text = address("http://x", Link(link.page, link.model, values)).partition("state=")[2]
    return opened(text, "bundled", has_template=False)


def test_link_has_everything_to_repeat_the_text(visitor, session):
    visitor.steps(2)
    visitor.settings = SamplingSettings(temperature=0.5, seed=7)
    visitor.do("force", token_id=300)
    visitor.steps(1)
    found, sentence = shown(session)
    linked = found["linked"]
    assert sentence.endswith("nothing has run yet. Press Start.")
    assert (linked["prompt"], linked["chat"], linked["steps"]) == (PROMPT, False, 4)
    assert linked["forced"] == [(2, 300)]
    assert [(first, run["temperature"], run["seed"]) for first, run in linked["settings"]] == [
        (0, 0.8, 3),
        (2, 0.5, 7),
    ]
    assert linked["limits"] == {
        "max_tokens": 64,
        "stop_strings": [],
        "thinking_budget": None,
    }


def test_guidance_and_search_are_in_the_link(visitor, session):
    visitor.do("start", prompt=PROMPT, negative_prompt="There was", guidance_scale=2.0)
    linked = shown(session)[0]["linked"]
    assert (linked["negative_prompt"], linked["guidance_scale"]) == ("There was", 2.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": -1}, "steps must be"),
        ({"settings": []}, "settings must"),
        ({"settings": [[0, {"order": ["temperature"], "temperature": -1}]]}, "temperature"),
        ({"settings": [[0, {"order": ["rm"], "rm": 1}]]}, "unknown"),
        ({"max_tokens": 10**9}, "max_new_tokens"),
        ({"beginning": {"prompt": 3}}, "prompt must be"),
        ({"beginning": {"prompt": "a", "scale": 1e9}}, "Guidance scale"),
        ({"stop_strings": ["x"] * 40}, "40 stop strings"),
    ],
)
def test_values_out_of_range_set_nothing(session, changes, said):
    found, sentence = shown(session, **changes)
    assert found == {} and said in sentence, sentence


def test_link_of_another_page_is_refused(session):
    text = address("http://x", Link("compare", "bundled", {})).partition("state=")[2]
    found, sentence = opened(text, "bundled", has_template=False)
    assert found == {} and "for another page" in sentence
