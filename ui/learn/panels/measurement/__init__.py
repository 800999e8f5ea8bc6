"""Sections of measuring pages in a lesson: savings and costs of the cache, and claims.

panel.py     their common parts
pages.py     the cache page, the claims page
"""
