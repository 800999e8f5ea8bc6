"""Texts and the settings that they are decoded with, as pages have them."""
