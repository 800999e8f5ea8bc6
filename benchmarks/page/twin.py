"""The twin: the same step on an ordinary Streamlit page, as written in an afternoon.

It has the same model, settings and decoder as the app, and a button, a text, a table, three charts.
The address sets the initial number of tokens: `?tokens=10`.
"""

from __future__ import annotations

import time

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from benchmarks.page.texts import begun_text, leading
from engine.decoder import Decoder

ROWS = 30
PAUSE_SECONDS = 0.2  # without it the browser finishes drawing no step


def bars(title: str, name: str, table: pd.DataFrame) -> go.Figure:
    """Chart one column of the table."""
    chart = go.Figure(go.Bar(x=table["token"], y=table[name]))
    return chart.update_layout(title=title, height=250, margin={"t": 40, "b": 20})


def latencies(title: str, decoder: Decoder) -> go.Figure:
    """Chart the time of each step."""
    parts = ("forward_ms", "shape_ms", "draw_ms")
    chart = go.Figure(
        [go.Bar(name=part, y=[getattr(step, part) for step in decoder.steps]) for part in parts]
    )
    return chart.update_layout(title=title, barmode="stack", height=250, margin={"t": 40, "b": 20})


def draw(decoder: Decoder, temperature: float) -> None:
    """Draw the text, table and charts of the last step; their titles name the content."""
    shown = f"step {len(decoder.steps)}, T {temperature:.2f}"
    index = len(decoder.steps) - 1
    settings = decoder.settings.replace(temperature=temperature)
    logits = decoder.logits(index)
    ids = leading(logits, ROWS)
    vocabulary = decoder.model.vocabulary
    table = pd.DataFrame(
        {
            "token": [f"{place}. {vocabulary.label(token)}" for place, token in enumerate(ids)],
            "logit": logits[ids],
            "probability": decoder.distribution(index, settings).probs[ids],
        }
    )
    st.text(decoder.text)
    st.dataframe(table)
    st.plotly_chart(bars(f"Logits, {shown}", "logit", table))
    st.plotly_chart(bars(f"Softmax, {shown}", "probability", table))
    st.plotly_chart(latencies(f"Latency, {shown}", decoder))


@st.fragment
def nothing() -> None:
    """Make a round trip of Streamlit that does nothing."""
    st.button("Nothing")
    st.session_state["rounds"] = st.session_state.get("rounds", 0) + 1
    st.text(f"round {st.session_state['rounds']}")


st.set_page_config(layout="wide")
if "decoder" not in st.session_state:
    st.session_state["decoder"] = begun_text(int(st.query_params.get("tokens", "1")))
text: Decoder = st.session_state["decoder"]
nothing()
is_playing = st.toggle("Play")
slider = st.slider("Temperature", 0.0, 2.0, text.settings.temperature, 0.05)
if st.button("Step") or is_playing:
    text.step()
draw(text, slider)
if is_playing:
    time.sleep(PAUSE_SECONDS)
    st.rerun()
