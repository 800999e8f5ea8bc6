"""The app's entry point, run with `streamlit run app.py`; `pages/` contains its pages.

Streamlit imports this file once as a server, to find `app`, and then runs it for each visitor.
"""

import streamlit as st

if __name__ != "__main__":
    from contextlib import asynccontextmanager

    from starlette.middleware import Middleware
    from streamlit.runtime.pages_manager import PagesManager

    from ui.components import apps
    from ui.learn.connect import open_lesson
    from ui.models.startup import START
    from ui.server.addresses import allow_own_address
    from ui.server.guard import Guard
    from ui.server.problems import log_to_terminal, on_script_error
    from ui.server.served_files import routes
    from ui.server.websocket import live_route
    from ui.step.connect import channel_class, open_step
    from ui.visits.visits import VISITS

    @asynccontextmanager
    async def lifespan(_app):
        """Save visitors' states when the server stops."""
        yield
        VISITS.close()

    # Otherwise the first visitor to open a page by its own address would get that file alone:
    # Streamlit treats each file in `pages/` as a page until the first call to `st.navigation`.
    PagesManager.uses_pages_directory = False
    log_to_terminal()
    allow_own_address()
    app = st.App(
        __file__,
        routes=[*routes(apps.SERVED), live_route({"step": open_step, "lesson": open_lesson})],
        middleware=[Middleware(Guard)],
        lifespan=lifespan,
        on_script_error=on_script_error,
    )
    START.begin(channel_class)  # load PyTorch and the first model before the browser connects
else:
    from ui.shell.navigation import chosen_page
    from ui.shell.page import wait_for_start

    page = chosen_page()
    if page.url_path:  # the home page is drawn at once and does its own waiting
        wait_for_start()
    page.run()
