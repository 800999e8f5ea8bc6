"""The section of the cache page that computes the memory needs of any model."""
