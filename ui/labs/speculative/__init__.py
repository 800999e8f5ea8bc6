"""The page of speculative decoding: rounds, distributions, and its cost."""
