"""The speculative decoding page: rounds, distributions, cost."""
