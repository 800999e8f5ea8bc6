"""Charts of the pages: pure functions from plain results to a Plotly figure."""
