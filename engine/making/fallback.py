"""Byte tokens, for characters that a vocabulary lacks."""

from __future__ import annotations

from collections.abc import Mapping


def byte_tokens(text: str, ids: Mapping[str, int]) -> list[int] | None:
    """Return the ids of a text's byte tokens; None if the vocabulary lacks one."""
    found = [ids.get(f"<0x{byte:02X}>") for byte in text.encode()]
    return None if None in found else found
