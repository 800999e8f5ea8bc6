"""The public door to the sampling decoder; the loop itself is `engine.decoding.decoder`."""

from engine.decoding.decoder import Decoder

__all__ = ["Decoder"]
