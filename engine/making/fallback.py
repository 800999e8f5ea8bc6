"""Byte tokens, for characters that a vocabulary of characters does not hold."""

from __future__ import annotations

from collections.abc import Mapping


def byte_tokens(text: str, ids: Mapping[str, int]) -> list[int] | None:
    """Ids of the byte tokens of a text; None if the vocabulary lacks one."""
    found = [ids.get(f"<0x{byte:02X}>") for byte in text.encode()]
    return None if None in found else found
