"""Charts: pure functions from plain results to a Plotly figure, without Streamlit and torch."""
