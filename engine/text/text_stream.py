"""Text from tokens as they come: the bytes of a character that is not complete are held back."""

from __future__ import annotations

import codecs


class TextStream:
    """Bytes in, text out, one token at a time.

    Holds back the bytes of a character whose end has not come yet. Bytes that cannot become a
    character turn into U+FFFD, as `bytes.decode(errors="replace")` does for the whole.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the text that `data` completes, maybe empty."""
        return self._decoder.decode(data)

    @property
    def state(self) -> tuple[bytes, int]:
        """The unfinished bytes and the decoder's flags, to go back to with `restore`."""
        return self._decoder.getstate()

    def restore(self, state: tuple[bytes, int]) -> None:
        """Go back to an earlier `state`."""
        self._decoder.setstate(state)
