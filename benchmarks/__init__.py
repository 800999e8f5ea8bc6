"""Benchmarks: `make benchmark`, or `python -m benchmarks NAME` for one module in here."""
