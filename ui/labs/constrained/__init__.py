"""Constrained decoding: the allowed tokens, the price, and what the model wanted instead.

lab.py          the text, and the figures of its steps
view.py         the text with its forced parts, figures and sentences
charts.py       allowed probability and price by step; texts by both distributions
page.py         the page
"""
