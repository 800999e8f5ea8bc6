"""The step page, which is the app's home: `streamlit run app.py`."""

import streamlit as st

from ui.step_page import step_page

st.set_page_config(page_title="Decoding Visualiser", layout="wide")
step_page()
