"""Decode tokens to text as they arrive; the bytes of an incomplete character are held back."""

from __future__ import annotations

import codecs


class TextStream:
    """An incremental UTF-8 decoder: bytes in, text out, one token at a time.

    It holds back the bytes of an incomplete character. Bytes that cannot become a character turn
    into U+FFFD, as in `bytes.decode(errors="replace")` of the whole.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the text that `data` completes, which may be empty."""
        return self._decoder.decode(data)

    @property
    def state(self) -> tuple[bytes, int]:
        """The unfinished bytes and the decoder's flags, for `restore`."""
        return self._decoder.getstate()

    def restore(self, state: tuple[bytes, int]) -> None:
        """Go back to an earlier `state`."""
        self._decoder.setstate(state)
