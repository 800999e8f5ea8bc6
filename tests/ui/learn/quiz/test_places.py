"""The place to try a question out: the page enters the state named by the question."""

from types import SimpleNamespace

import pytest

from ui.learn.quiz import questions
from ui.learn.quiz.questions import PLACES, AnyPlace, Place
from ui.learn.source import Refused, fitted
from ui.measurements.state import MeasurementState
from ui.shell.navigation import PAGES
from ui.texts.texts import Beginning, Contrastive
from ui.visits.handover import STEP
from ui.visits.visits import Visit


def place(**data) -> Place:
    return fitted(data, AnyPlace)


@pytest.fixture
def went(monkeypatch) -> list[str]:
    """The pages visited."""
    went: list[str] = []
    monkeypatch.setattr(questions.st, "switch_page", went.append)
    return went


def test_step_page_opens_with_prompt_and_settings(monkeypatch, went):
    monkeypatch.setattr(questions, "model_of", lambda visit: ("the model", ""))
    visit = Visit("ab" * 16)
    place(page="step", prompt="Once", settings={"temperature": 0.5, "seed": 3}).open(visit)
    handed = visit.handed[STEP]
    assert (handed.model, handed.beginning.prompt, handed.max_tokens) == ("the model", "Once", 64)
    assert (handed.settings.temperature, handed.settings.seed) == (0.5, 3)
    assert went == ["pages/step.py"]


def test_step_place_accepts_guidance_search_and_xtc():
    guided = place(page="step", prompt="Once", negative_prompt="A", guidance_scale=2.0)
    assert guided.beginning == Beginning("Once", negative_prompt="A", scale=2.0)
    searched = place(page="step", prompt="Once", search={"top_k": 5})
    assert searched.beginning == Beginning("Once", strategy=Contrastive(5, 0.6))
    settings = place(page="step", prompt="Once", settings={"xtc": {"threshold": 0.2}})
    assert settings.settings.xtc.threshold == 0.2
    with pytest.raises(Refused, match="penalty_alpha is refused"):
        place(page="step", prompt="Once", search={"penalty_alpha": 2.0})


@pytest.mark.parametrize(
    ("data", "called"),
    [
        ({"page": "compare", "prompt": "a"}, [("change", (), {"prompt": "a", "chat": False})]),
        ({"page": "cache", "section": "window"}, [("choose", ("window",), {})]),
        ({"page": "beam", "width": 1}, [("change", (), {"width": 1})]),
        ({"page": "tune"}, []),
    ],
)
def test_other_pages_open_with_their_inputs(monkeypatch, went, data, called):
    calls: list[tuple] = []

    class Noting:
        def __getattr__(self, name):
            return lambda *given, **named: calls.append((name, given, named))

    page = SimpleNamespace(of=lambda visit: Noting())
    monkeypatch.setattr(PLACES[data["page"]], "visit_page", classmethod(lambda kind: page))
    place(**data).open(Visit("ab" * 16))
    assert (calls, went) == (called, [f"pages/{data['page']}.py"])


def test_every_page_has_the_method_places_call():
    """Check that each module has the page, and its state the method that is called above."""
    assert {f"pages/{name}.py" for name in PLACES} <= set(PAGES)
    assert hasattr(MeasurementState, "choose")
    methods = dict.fromkeys(PLACES.keys() - {"step", "tune", "cache", "claims"}, "change")
    for name, method in methods.items():
        assert hasattr(PLACES[name].visit_page().begin, method), name
