"""The page that checks a server: what it does with settings, raw values, chains and other texts.

    page.py      fields, verdicts, figures, files
    state.py     its inputs, the other engine, and the work
    charts.py    gaps between the two best tokens, and how far log-probabilities move

`engine.server_check` makes the checks.
"""
