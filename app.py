"""The step page, which is the app's home: `streamlit run app.py`.

Streamlit imports this file once as a server, to find `app`, and then runs it for each visitor.
"""

import streamlit as st

if __name__ != "__main__":
    from ui.served_files import routes

    app = st.App(__file__, routes=routes())
else:
    from ui.step_page import step_page

    st.set_page_config(page_title="Decoding Visualiser", layout="wide")
    step_page()
