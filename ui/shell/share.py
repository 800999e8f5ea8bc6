"""The button `Share`: a link to the page's state with a QR code, and files to save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import segno
import streamlit as st

from engine.errors import DecodingError
from ui.visits import link
from ui.visits.link import Link
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import say

QR_PIXELS = 3  # per module
HERE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class SharedFile:
    """A file that a page offers.

    Attributes:
        label, help: the button's text, and what the file is.
        name, mime: name and type of the file.
        make: returns its contents; raises `DecodingError` if there are none.
    """

    label: str
    help: str
    name: str
    mime: str
    make: Callable[[], str]


def share_button(linked: Callable[[], Link], *files: SharedFile) -> None:
    """Draw the button; the link is made when it is pressed.

    Args:
        linked: returns the link's contents.
        files: files to offer beside the link.
    """
    if st.button(
        say("Share"),
        key="share",
        help=say("A link to this state, with a QR code"),
        width="content",
    ):
        st.dialog(say("Share"))(_share)(linked, files)


def _share(linked: Callable[[], Link], files: tuple[SharedFile, ...]) -> None:
    try:
        address = link.address(st.context.url or "", linked())
    except DecodingError as error:
        st.warning(markdown_text(in_words(error)))
    else:
        st.caption(
            say(
                "The link has the inputs of this page. It runs nothing by itself. The model is "
                "named in it, not included."
            )
        )
        code = segno.make(address, error="l", boost_error=False)
        # On white in both themes: phones do not read a dark ground.
        drawn = code.svg_data_uri(scale=QR_PIXELS, light="white")
        alt = say("QR code of the link")
        st.html(f'<img class="dv-qr" src="{drawn}" alt="{alt}">')
        st.code(address, language=None, wrap_lines=True)
        if urlsplit(address).hostname in HERE:
            st.caption(
                say(
                    "This address works on this computer only; docs/sharing.md says how to let "
                    "others in."
                )
            )
    for file in files:
        st.download_button(
            file.label,
            file.make,
            file.name,
            file.mime,
            key=f"share_{file.name}",
            help=file.help,
            on_click="ignore",
        )
