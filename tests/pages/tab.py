"""A tab for pages without a browser: its identity and its visit."""

import json
import re
import secrets
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from ui.visits.tab import TAB
from ui.visits.visits import VISITS, Visit

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120  # per page: the first page of a process loads the model


def new_app() -> AppTest:
    """Return the app, not yet opened by a tab."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE_S)


def new_tab(token: str = "") -> dict[str, str]:
    """Return a tab's identity; with a token, as after a reload."""
    token = token or secrets.token_hex(16)
    return {"token": token, "tab": secrets.token_hex(16), "asked": token}


def in_tab(app: AppTest, token: str = "") -> AppTest:
    """Return the app as a tab opens it."""
    app.session_state[TAB] = new_tab(token)
    return app


def visit_of(app: AppTest) -> Visit:
    """Return the tab's visit."""
    known = app.session_state[TAB]
    return VISITS.open(known["token"], known["tab"], "test", lambda: False)


def left(app: AppTest) -> str:
    """Close the tab and return its token, for the next tab that arrives with it."""
    visit = visit_of(app)
    visit._users.clear()
    return visit.token


def field(app: AppTest, kind: str, name: str) -> Widget:
    """Return a field that is bound to the page's state, by name: see `ui.shell.fields`."""
    (found,) = [one for one in app.get(kind) if re.fullmatch(rf"{name}_\d+", one.key or "")]
    return found


def restarted(app: AppTest) -> None:
    """Clear the visit's memory, and read its records as from a disk."""
    visit = visit_of(app)
    records = {name: held.state.record() for name, held in visit._pages.items()}
    visit._pages.clear()
    visit._records = json.loads(json.dumps(records))
