"""Quantised caches: bytes saved against divergence from the exact distribution."""
