"""The button Share: a link that fits, its QR code, and a sentence where it does not."""

import base64
from dataclasses import replace
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import in_tab, new_app, visit_of
from ui.models.startup import START
from ui.visits.link import opened


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    START.wait(lambda activity: None, lambda: True)
    app.switch_page("pages/beam.py").run()
    return app


def test_link_has_the_inputs_and_its_qr_code(app):
    app.button(key="share").click().run()
    assert not app.exception
    [address] = [each.value for each in app.code]
    [text] = parse_qs(urlsplit(address).query)["state"]
    state = visit_of(app).present("beam")
    assert opened(text) == state.link()
    drawn = " ".join(str(each.proto.body) for each in app.get("html"))
    svg = drawn.partition('class="dv-qr" src="data:image/svg+xml')[2].partition('"')[0]
    assert "svg" in (unquote(svg) + base64.b64decode(svg.partition("base64,")[2] or b"").decode())


def test_long_text_has_no_link(app):
    state = visit_of(app).present("beam")
    long = "".join(chr(0x4E00 + 7919 * place % 20000) for place in range(2000))
    state.inputs = replace(state.inputs, prompt=long)
    app.button(key="share").click().run()
    assert not app.code
    assert any(
        "more than the 2,000 that browsers and QR codes take" in w.value for w in app.warning
    )
