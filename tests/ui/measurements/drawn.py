"""A page of one section, drawn until its first measurement is over."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.pages.tab import in_tab


def drawn(page: Callable[..., None], **options: object) -> AppTest:
    """Draw the page of a function that stores its state under "state"."""
    app = in_tab(AppTest.from_function(page, default_timeout=60, kwargs=options)).run()
    state = app.session_state["state"]
    state.bench.pacing.wait(60)
    app.run()
    state.held.work.wait(60)
    app.run()
    assert not app.exception and not app.error
    return app
