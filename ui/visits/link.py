"""Links to the state of a page: its inputs, packed into a web address.

A link never runs or loads anything by itself. Its values are checked as those of a record are, and
the page shows them as if they had been typed.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from msgspec import Struct

from engine.errors import DecodingError
from engine.values import Name, NoJson, Wrong, decode
from ui.visits.records import BrokenRecord, read
from ui.words.language import say

PARAMETER = "state"  # of the address
VERSION = "1"
LONGEST = 2000  # bytes of an address: what a QR code and all browsers take
MOST_UNPACKED = 2**18


class Link(Struct, forbid_unknown_fields=True):
    """The contents of a link.

    Attributes:
        page: name of the page.
        model: name of the model that was in use.
        values: the page's inputs.
    """

    page: Name
    model: Name
    values: dict[str, Any]


def address(base: str, link: Link) -> str:
    """Return the address of a page with this state.

    Args:
        base: the page's own address, without a query.
        link: the contents.

    Raises:
        DecodingError: it would be longer than `LONGEST`.
    """
    values = {"page": link.page, "model": link.model, "values": link.values}
    data = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    squeezed = zlib.compress(data.encode("utf-8", "replace"), 9, wbits=-15)
    text = base64.urlsafe_b64encode(squeezed).decode().rstrip("=")
    found = f"{base}?{PARAMETER}={VERSION}.{text}"
    if len(found) > LONGEST:
        raise DecodingError(
            say(
                "The link would have {count} bytes, more than the {most} that browsers and QR "
                "codes take; shorten the text, or save a file instead.",
                count=f"{len(found):,}",
                most=f"{LONGEST:,}",
            )
        )
    return found


def opened(text: str) -> Link:
    """Return the contents of a link, from the value of its parameter.

    Raises:
        BrokenRecord: it is cut, of another version, or not a link of this app.
    """
    version, _, packed = text.partition(".")
    if version != VERSION and version.isdigit():
        raise BrokenRecord(say("The link is of a newer version of this app; update the app."))
    try:
        padded = packed[:LONGEST] + "=" * (-len(packed) % 4)
        unpacking = zlib.decompressobj(wbits=-15)
        data = unpacking.decompress(
            base64.b64decode(padded, altchars=b"-_", validate=True), MOST_UNPACKED
        )
        if version != VERSION or not unpacking.eof:
            raise ValueError("cut")
        return decode(data, Link)
    except (ValueError, zlib.error, NoJson, Wrong) as error:
        raise BrokenRecord(
            say("The link is incomplete or damaged, so nothing was set; copy all of it.")
        ) from error


def read_values(link: Link, kind: Any) -> Any:
    """Return the values of a link as a type; raises `BrokenRecord` if they do not fit."""
    return read(link.values, kind)


def said(link: Link, model_name: str) -> str:
    """Return a sentence on an opened link, and on its model if another one is in use."""
    done = say("The link has set the inputs of this page; nothing has run yet.")
    if link.model == model_name:
        return done
    other = say(
        "It was made with the model {named}; here it is {used}.", named=link.model, used=model_name
    )
    return f"{done} {other}"
