"""A KV cache quantised to a few bits per number, compared with the exact one.

    settings.py     `Quantisation`: bits, groups, axes, and the exact residual
    codes.py        numbers as codes of 8, 4 or 2 bits; each group has a minimum and a step
    states.py       the keys, or the values, of one layer as such a cache stores them
    compared.py     one batch: the first row has the exact cache, each further row a quantised one

The codes are really packed, and a pass reads the decoded values. So bytes are those of tensors. The
time that a quantised cache saves is not shown: that would take kernels that read codes.

transformers' own quantised caches are not suitable. The one of optimum-quanto lacks 8 bits,
compiles C++ at its first use, and was last released in March 2025. The one of hqq also needs
accelerate, einops and termcolor. Both quantise the whole cache again when the residual is full.
Neither can group keys along the positions, which is the method published to work.
"""

from engine.model.quantised.compared import compared_cache, head_dims, row_bytes, why_not
from engine.model.quantised.settings import AXES, BITS, PER_CHANNEL, PER_TOKEN, Quantisation

__all__ = [
    "AXES",
    "BITS",
    "PER_CHANNEL",
    "PER_TOKEN",
    "Quantisation",
    "compared_cache",
    "head_dims",
    "row_bytes",
    "why_not",
]
