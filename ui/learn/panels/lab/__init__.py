"""Decoder pages in a lesson: one file each, with its measures for checks.

    panel.py      their common parts: inputs, transport, picture, measures, actions

A new one needs a file with its measures and a `LabPanel`, and its name in `DecoderPanel` in the
parent folder.
"""
