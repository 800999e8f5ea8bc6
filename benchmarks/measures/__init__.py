"""Measurements of `python -m benchmarks.engine`, by subject.

models.py        the models, the bare loop, the amount of measuring
decoding.py      a recorded step against a bare pass, `generate`, other CPU kernels
memory.py        bandwidth, the record, forks and rewinds, with and without a cache
pipelines.py     shaping and draw alone, against transformers' processors
"""
