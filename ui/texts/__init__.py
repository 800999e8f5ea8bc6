"""Texts of pages, and the settings that they are decoded with."""
