"""Guidance and contrastive search, from the page's first event through a reload."""

import pytest

from tests.ui.step.live_page import opened

GUIDED = {"prompt": "A sad story:", "guided": True, "negative_prompt": "A story:"}
SEARCH = {"top_k": 5, "penalty_alpha": 0.6}


def test_guided_text_survives_a_reload():
    with opened() as page:
        header = page.do("start", guidance_scale=2, **GUIDED)
        assert header["error"] == "" and page.text["negative_prompt"] == "A story:"
        assert header["row"]["light"]
        assert page.do("row")["row"]["compared"]
        page.do("step", guidance_scale=2.5)
        assert page.steps[0]["guidance_scale"] == 2.5 and page.steps[0]["negative_cache_bytes"] > 0
    with opened(page.visit) as again:
        assert again.text["negative_prompt"] == "A story:"
        assert again.text["guidance_scale"] == 2.5
        assert len(again.text["negative_tokens"]) > 0
        again.do("start", prompt="A story:")
        assert again.text["negative_tokens"] is None
        assert "compared" not in again.do("row")["row"]


def test_contrastive_search_survives_a_reload():
    with opened() as page:
        header = page.do("start", prompt="A story:", strategy=SEARCH)
        assert header["error"] == "" and header["row"] is None and "search" not in header
        assert page.text["strategy"] == SEARCH
        header = page.do("step", strategy=SEARCH | {"penalty_alpha": 0.2})
        assert header["search"]["penalty_alpha"] == 0.2
        assert len(header["search"]["candidates"]) == 5
        page.do("run", strategy=SEARCH, limits={"max_tokens": 6}, playing=True)
        assert len(page.steps) > 1
    with opened(page.visit) as again:
        assert again.text["strategy"] == SEARCH
        assert again.last["search"]["candidates"]
        assert again.do("rewind", strategy=SEARCH)["length"] == 0


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (GUIDED | {"negative_prompt": "", "guidance_scale": 2}, "negative prompt is empty"),
        (GUIDED | {"guidance_scale": 10**9}, "Guidance scale must be from 1 to 100"),
        ({"prompt": "A", "strategy": {"penalty_alpha": -1}}, "penalty_alpha"),
        ({"prompt": "A", "strategy": "search"}, "strategy must be an object"),
    ],
)
def test_invalid_start_gets_error_and_keeps_text(fields, sentence):
    with opened() as page:
        page.do("step")
        header = page.do("start", **fields)
        assert sentence in header["error"]
        assert header["length"] == 1
