"""Numbers and labels for reading, as the component words them."""

import pytest

from tests.browser.modules import modules_page
from tests.ui.hostile import HOSTILE
from ui.shared.labels import token_label


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(browser, "words/format.js") as page:
        yield page


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("percent(0)", "0 %"),
        ("percent(3e-9)", "< 0.0001 %"),
        ("percent(0.0003)", "0.0300 %"),
        ("percent(0.5)", "50.00 %"),
        ("percent(0.99999)", "> 99.99 %"),
        ("percent(1)", "100.00 %"),
        ("percent(1 - 1e-16)", "100.00 %"),
        ("tokens(1)", "1 token"),
        ("tokens(16384)", "16,384 tokens"),
        ("size(1023)", "1023 B"),
        ("size(1536)", "1.5 KiB"),
        ("size(5 * 2 ** 20)", "5.0 MiB"),
        ("ms(0.123)", "0.12 ms"),
        ("ms(12.34)", "12.3 ms"),
        ("bits(2)", "2.00 bits"),
        ("score_text(-4.5)", "−4.50"),
        ("score_text(12.3456, 3)", "12.346"),
        ("score_text(-0.001)", "0.00"),
        ("score_text(-Infinity)", "−∞"),
        ("score_text(-1.0000000150474662e+30)", "−1.00e30"),
        ("score_text(1000000)", "1000000.00"),
        ("stage_name('top_k')", "top-k"),
        ("stage_name('dry')", "DRY"),
        ("stage_name('mirostat')", "Mirostat"),
        ("stage_name('several')", "several"),
        ("stage_name(null)", None),  # nothing removed it
        ("stage_label('repetition_penalty')", "Repetition penalty"),
        ("quoted('abcdef', 4)", "“\u2068abc…\u2069”"),
        ("isolated(undefined)", "\u2068\u2069"),
        ("shorten('🙂🙂🙂', 2)", "🙂…"),
        ("plotly_text('<b>&lt;')", "&lt;b&gt;&amp;lt;"),
    ],
)
def test_numbers_and_texts(page, call, shown):
    assert page.evaluate(f"modules.{call}") == shown


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_label_is_escaped_for_a_chart(page, text):
    label = page.evaluate("label => modules.plotly_text(label, 10)", token_label(text))
    assert not set("<>") & set(label)
