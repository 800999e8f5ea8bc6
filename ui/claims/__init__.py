"""The claims page: common claims about language models, each tested by an experiment.

    page.py       the definition of this page (see `ui.measurements`), and a table of all claims
    claims.py     a claim of `engine.claims` as a section: prediction, fields, verdict, tables
    words.py      the words of `lessons/claims.toml`, with figures inserted
    charts.py     the chart that every claim has, and additional charts

`engine.claims` explains how to add a claim. The words are data, so that a teacher can change them.
A test inserts figures into all words.
"""
