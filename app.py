"""The step page, which is the app's home: `streamlit run app.py`.

Streamlit imports this file once as a server, to find `app`, and then runs it for each visitor.
"""

import streamlit as st

if __name__ != "__main__":
    import threading

    from ui.components import step
    from ui.served_files import routes

    def get_ready() -> None:
        """PyTorch and the first model, while the browser is still on its way."""
        from ui.model_chooser import preload

        preload()

    app = st.App(__file__, routes=routes(step.SERVED))
    threading.Thread(target=get_ready, name="get ready", daemon=True).start()
else:
    from ui.components.step import fetch_charts

    st.set_page_config(page_title="Decoding Visualiser", layout="wide")
    fetch_charts()

    from ui.step_page import step_page  # with PyTorch, which takes seconds the first time

    step_page()
