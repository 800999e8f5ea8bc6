"""Constrained decoding: the allowed tokens, their price, and the tokens the model preferred.

lab.py          the text, and the figures of its steps
view.py         the text with its forced parts, figures and sentences
page.py         the page and its charts: allowed probability and price per step; whole texts
"""
