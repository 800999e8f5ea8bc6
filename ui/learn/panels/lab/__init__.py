"""Decoder pages in a lesson: a file each, with what checks may ask of it.

    panel.py      what they have in common: inputs, transport, picture, measures, actions

To add one: a file with its measures and a `LabPanel`, and its name in `DecoderPanel` beside.
"""
