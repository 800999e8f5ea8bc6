"""Texts on pages, and the settings with which they are decoded."""
