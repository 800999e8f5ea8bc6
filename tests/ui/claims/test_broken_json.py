"""The claim on JSON, from a made-up result: few test vocabularies can write any JSON."""

from streamlit.testing.v1 import AppTest

from engine.claims.experiments.broken_json import (
    KEPT,
    WAYS,
    BrokenJson,
    JsonRun,
    Judged,
    first_object,
)
from tests.charts import charts


def made_up() -> BrokenJson:
    """Eight objects, each broken after the wrong token."""
    texts = tuple(Judged(way, "{<b>", way == KEPT, "no end") for way in WAYS)
    return BrokenJson(tuple(JsonRun(seed, 3, '"', "<i>", texts) for seed in range(8)))


def test_only_the_first_json_object_is_judged():
    assert first_object(' {"a": 1} and more }') == ' {"a": 1}'
    assert first_object('{"a": 1 and more') == '{"a": 1 and more'


def test_section_is_drawn_with_escaped_text():
    def script() -> None:
        from tests.ui.claims.test_broken_json import made_up
        from ui.claims.claims import CLAIMS
        from ui.measurements.section import Shown

        (section,) = [one for one in CLAIMS if one.key == "broken_json"]
        section.picture(made_up(), Shown("json", None, False, False))

    app = AppTest.from_function(script, default_timeout=60).run()
    assert not app.exception and len(charts(app)) == 1
    assert "{&lt;b&gt;" in "".join(str(one.proto.body) for one in app.get("html"))
