"""Serves the twin and the floor: `streamlit run benchmarks/page/bare.py`."""

from pathlib import Path

import streamlit as st

from benchmarks.page.floor import routes

app = st.App(Path(__file__).with_name("twin.py"), routes=routes())
