"""The decoding engine: a causal language model stepped one token at a time, every step recorded.

Nothing in here imports Streamlit, Plotly or the user interface. Start at
`engine.decoder.Decoder.step`, which is the whole loop in one screen.
"""
