"""Guidance and contrastive search by way of the page, without a browser."""

import pytest

from tests.pages.test_step_page import app, do, mounted, opened  # noqa: F401 - a fixture

GUIDED = {"prompt": "A sad story:", "guided": True, "negative_prompt": "A story:"}
SEARCH = {"top_k": 5, "penalty_alpha": 0.6}


def test_a_guided_text_from_start_through_a_reload(app, monkeypatch):  # noqa: F811
    header = do(app, monkeypatch, 1, "start", guidance_scale=2, **GUIDED)
    assert header["error"] == ""
    assert header["row"]["guided"] and header["text"]["negative_prompt"] == "A story:"
    header = do(app, monkeypatch, 2, "step", guidance_scale=2.5)
    step = dict(zip(header["step_fields"], header["steps"][0], strict=True))
    assert step["guidance_scale"] == 2.5 and step["negative_cache_bytes"] > 0
    again = opened()
    token = app.session_state["session"].token
    header = do(again, monkeypatch, 3, "resume", token=token)
    assert header["text"]["negative_prompt"] == "A story:"
    assert header["text"]["guidance_scale"] == 2.5
    assert len(header["text"]["negative_tokens"]) > 0
    header = do(again, monkeypatch, 4, "start", prompt="A story:")
    assert header["text"]["negative_tokens"] is None and "guided" not in header["row"]


def test_a_search_from_start_through_a_reload(app, monkeypatch):  # noqa: F811
    header = do(app, monkeypatch, 1, "start", prompt="A story:", strategy=SEARCH)
    assert header["error"] == "" and header["row"] is None and header["search"] is None
    assert mounted(app)["text"] is None or mounted(app)["text"]["strategy"] == SEARCH
    header = do(app, monkeypatch, 2, "step", strategy=SEARCH | {"penalty_alpha": 0.2})
    assert header["search"]["penalty_alpha"] == 0.2
    assert len(header["search"]["candidates"]) == 5
    header = do(app, monkeypatch, 3, "run", strategy=SEARCH, limits={"max_tokens": 6}, playing=True)
    assert header["length"] > 1
    again = opened()
    token = app.session_state["session"].token
    header = do(again, monkeypatch, 4, "resume", token=token)
    assert header["text"]["strategy"] == SEARCH
    assert header["search"]["candidates"]
    assert do(again, monkeypatch, 5, "rewind", strategy=SEARCH)["length"] == 0


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (GUIDED | {"negative_prompt": "", "guidance_scale": 2}, "The negative prompt is empty;"),
        (GUIDED | {"guidance_scale": 0.5}, "Guidance scale must be from 1 to 100, got 0.5"),
        (GUIDED | {"guidance_scale": 10**9}, "Guidance scale must be from 1 to 100, got 1,000,000"),
        (GUIDED | {"guidance_scale": "2"}, "guidance_scale = '2', which is no number"),
        ({"prompt": "A", "strategy": {"top_k": 0}}, "top_k must be"),
        ({"prompt": "A", "strategy": {"penalty_alpha": -1}}, "penalty_alpha must be from 0 to 1"),
        ({"prompt": "A", "strategy": "search"}, "an event that is no object"),
    ],
)
def test_nonsense_is_answered_in_words_and_the_text_stays(app, monkeypatch, fields, sentence):  # noqa: F811
    do(app, monkeypatch, 1, "step")
    header = do(app, monkeypatch, 2, "start", **fields)
    assert sentence in header["error"]
    assert header["length"] == 1
