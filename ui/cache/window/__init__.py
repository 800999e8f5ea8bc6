"""The section of the cache page at the edge of a sliding window and the end of a context."""
