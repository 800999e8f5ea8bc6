"""Quantised caches: bytes saved against the divergence from the exact distribution."""
