"""Properties of every page, whatever its content."""

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage

import ui.visit_page
from tests.bundled import bundled
from tests.engine.backend.top_n import TopN
from tests.pages.tab import ROOT, in_tab, new_app, visit_of
from ui.models.startup import START
from ui.shell.navigation import HOME, PAGES
from ui.step.channel import step_session


def test_all_pages_are_in_the_navigation():
    files = {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    assert files == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_no_fragment_is_drawn_within_another(page, monkeypatch):
    """Otherwise a page drawn twice in a moment may lose the outer one's elements and freeze."""
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    parents = []
    registered = MemoryFragmentStorage.register

    def noted(self, *arguments, parent_fragment_id, **options):
        parents.append(parent_fragment_id)
        registered(self, *arguments, parent_fragment_id=parent_fragment_id, **options)

    monkeypatch.setattr(MemoryFragmentStorage, "register", noted)
    app = in_tab(new_app()).run()
    START.wait(lambda activity: None, lambda: True)
    step_session(visit_of(app))
    if page == HOME:
        app.run()
    else:
        app.switch_page(page).run()
    assert not app.exception
    said = [*app.markdown, *app.caption]  # lessons have no chooser, and say so in their caption
    assert any("bundled" in element.value for element in said), "with its model chooser"
    assert parents and set(parents) == {None}


@pytest.mark.parametrize("page", ["cache", "claims", "one_clock", "speculative"])
def test_page_reports_missing_back_end_data(page, monkeypatch):
    """Check the message; `tests/browser/test_second_back_end.py` covers its looks."""
    monkeypatch.setattr(ui.visit_page, "model_of", lambda visit: (TopN(bundled(), 1000), ""))
    app = in_tab(new_app()).run()
    START.wait(lambda activity: None, lambda: True)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert [said.value for said in app.info if "does not provide; choose another" in said.value]
