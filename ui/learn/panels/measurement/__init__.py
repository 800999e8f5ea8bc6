"""Sections of measuring pages in a lesson: what the cache saves and costs, and claims.

panel.py     what they have in common
pages.py     the cache page, the claims page
"""
