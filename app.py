"""The app: `streamlit run app.py`. Its pages are the files in `pages/`, the step page is its home.

Streamlit imports this file once as a server, to find `app`, and then runs it for each visitor.
"""

import streamlit as st

if __name__ != "__main__":
    import threading

    from streamlit.runtime.pages_manager import PagesManager

    from ui.components import step
    from ui.server.served_files import routes

    def get_ready() -> None:
        """PyTorch and the first model, while the browser is still on its way."""
        from ui.shared.model_chooser import preload

        preload()

    # Else the first visitor to come by a page's own address gets that file alone, before any
    # `st.navigation` has told Streamlit that `pages/` is not to be taken for a list of pages.
    PagesManager.uses_pages_directory = False
    app = st.App(__file__, routes=routes(step.SERVED))
    threading.Thread(target=get_ready, name="get ready", daemon=True).start()
else:
    from ui.shared.page import chosen_page

    chosen_page().run()
