"""The claims page: sayings about language models, each as an experiment with a verdict.

    page.py       the properties of this page (see `ui.measurements`), with all claims in one table
    claims.py     a claim of `engine.claims` as a section: prediction, fields, verdict, tables
    words.py      the words of `lessons/claims.toml`, with figures inserted
    charts.py     the default picture, and further charts of some claims

`engine.claims` explains how to add one. The words are data, so that a teacher can change them. A
test inserts figures into all words.
"""
