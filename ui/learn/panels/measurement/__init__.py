"""Sections of measuring pages in a lesson: what the cache saves and costs, and claims.

panel.py     what they have in common
cache.py     the cache page
claims.py    the claims page
"""
