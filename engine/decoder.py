"""Public import path of the sampling decoder; the loop itself is in `engine.decoding.decoder`."""

from engine.decoding.decoder import Decoder

__all__ = ["Decoder"]
