"""The files that components fetch: served by the app itself, under names that change with content.

`streamlit run` finds the `st.App` in `app.py` and serves these routes beside its own, so the
component's modules and Plotly.js come from this server, whatever the network allows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PREFIX = "/served"


class _Unchanging(StaticFiles):
    """Files whose address changes with their content, so that a browser asks for each once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


class _OneFile(_Unchanging):
    """A single file of a folder that holds others."""

    def __init__(self, file: Path) -> None:
        super().__init__(directory=file.parent)
        self._name = file.name

    def lookup_path(self, path: str):
        return super().lookup_path(path) if path == self._name else ("", None)


@cache
def _route(place: Path) -> str:
    """A name for a folder or a file and what it holds."""
    files = [place] if place.is_file() else sorted(filter(Path.is_file, place.rglob("*")))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(place.parent).as_posix().encode())
        digest.update(file.read_bytes())
    return f"{PREFIX}/{place.stem}-{digest.hexdigest()[:12]}"


def address(place: Path) -> str:
    """Where a browser finds the files of a folder that is served, or the folder of such a file."""
    return f"{base_path()}{_route(place)}"


def base_path() -> str:
    """What all addresses of the app begin with: ``/app``, or nothing."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def routes(places: Iterable[Path]) -> list[Mount]:
    """Routes for `st.App` to folders and single files."""
    return [
        Mount(_route(place), _Unchanging(directory=place) if place.is_dir() else _OneFile(place))
        for place in places
    ]
