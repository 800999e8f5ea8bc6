"""Speculative decoding: a draft proposes, the target checks in one pass.

decoder.py            the loop: propose, verify, append
proposers.py          the proposers: a draft model, prompt lookup
verifier.py           the target's verdicts, and the token that it draws
block_reader.py       reading a cached text ahead, and rolling it back
reading_again.py      reading such a text again after its cache was lost
"""

from engine.decoding.speculative.decoder import SpeculativeDecoder
from engine.decoding.speculative.proposers import ITSELF, LOOKUP, PROPOSERS
from engine.decoding.speculative.verifier import RoundDistributions

__all__ = ["ITSELF", "LOOKUP", "PROPOSERS", "RoundDistributions", "SpeculativeDecoder"]
