"""Numbers from a configuration, each with the field that it was read from."""

from __future__ import annotations

from typing import Any

from engine.cache_formula import Number
from engine.checks import is_whole
from engine.errors import NotAModelError

_MOST = 2**40  # of any one number: larger sizes would need powers of ten to be readable


class Fields:
    """A configuration whose fields are read by name.

    Args:
        config: a configuration of transformers, or one layer's part of it.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        self._names = getattr(config, "attribute_map", {})

    def plain(self, name: str) -> Any:
        """Return the value of a field; None if the configuration lacks it."""
        return getattr(self._config, name, None)

    def has(self, name: str) -> bool:
        """Return whether the configuration has a field with a whole number."""
        return is_whole(self.plain(name))

    def number(self, words: str, symbol: str, *names: str) -> Number:
        """Return the number in the first of the fields that has a whole number.

        Raises:
            NotAModelError: none has one, or the number is impossible for a model.
        """
        for name in names:
            value = self.plain(name)
            if is_whole(value):
                return Number(self._checked(name, value), words, symbol, self.named(name))
        raise NotAModelError(
            "The configuration gives no {words} ({names}), so the size of its cache is "
            "unknown; add the field.",
            (words, " or ".join(names)),
        )

    def named(self, name: str) -> str:
        """Return a field's name in config.json, which differs in some architectures."""
        return self._names.get(name, name)

    def _checked(self, name: str, value: int) -> int:
        if not 0 < value < _MOST:
            raise NotAModelError(
                "{named} of the configuration must be from 1 to {most:,}, got "
                "{value:,}; check config.json.",
                (self.named(name), _MOST, value),
            )
        return int(value)
