"""The section of the cache page that computes what any model needs."""
