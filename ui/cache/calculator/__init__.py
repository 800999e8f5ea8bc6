"""The section of the cache page that computes how much memory any model needs."""
