"""A cached sequence: read, taken back, copied."""
