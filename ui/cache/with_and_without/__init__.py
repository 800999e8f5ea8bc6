"""The section of the cache page that decodes a text with and without the cache."""
