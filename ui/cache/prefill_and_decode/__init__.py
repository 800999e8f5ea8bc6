"""The section of the cache page that times prefill and decode, and what tokens are sold for."""
