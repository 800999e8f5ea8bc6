"""Prefix reuse: a second prompt with the same beginning."""
