"""Constrained decoding: the allowed tokens, the price, and the tokens the model wanted.

lab.py          the text, and the figures of its steps
view.py         the text with its forced parts, figures and sentences
page.py         the page and its charts: allowed probability and price by step; texts by both
"""
