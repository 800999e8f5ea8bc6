"""Benchmarks: `make benchmark`, or `python -m benchmarks NAME` for one of these modules."""
