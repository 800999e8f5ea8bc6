"""The section of the cache page that times prefill and decode, and compares token prices."""
