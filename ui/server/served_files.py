"""Files that components fetch, served by the app under addresses that change with the content.

`streamlit run` finds the `st.App` in `app.py` and serves these routes with its own, so the
component's modules and Plotly.js come from this server, whatever the network allows.

Computed values that seldom change are served too: the sentences of a language, the glossary. A page
gets their addresses on every redraw, and the browser fetches each only once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PREFIX = "/served"
VALUES = f"{PREFIX}/values"
HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}
_values: dict[str, bytes] = {}  # as JSON, by the names of their addresses


class _Unchanging(StaticFiles):
    """Files whose address changes with their content, so that a browser fetches each only once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


class _OneFile(_Unchanging):
    """A single file, served without the others in its folder."""

    def __init__(self, file: Path) -> None:
        super().__init__(directory=file.parent)
        self._name = file.name

    def lookup_path(self, path: str):
        return super().lookup_path(path) if path == self._name else ("", None)


@cache
def _route(place: Path) -> str:
    """Return the route of a folder or file; it changes with the content."""
    files = [place] if place.is_file() else sorted(filter(Path.is_file, place.rglob("*")))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(place.parent).as_posix().encode())
        digest.update(file.read_bytes())
    return f"{PREFIX}/{place.stem}-{digest.hexdigest()[:12]}"


def address(place: Path) -> str:
    """Return the address of a served folder; for a served file, that of its folder."""
    return f"{base_path()}{_route(place)}"


def base_path() -> str:
    """Return the prefix of all addresses of the app: ``/app``, or nothing."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def address_of_value(value: Any) -> str:
    """Serve a value as JSON and return its address. Values are kept, so there must be few."""
    packed = json.dumps(value, ensure_ascii=False).encode()
    name = f"{hashlib.sha256(packed).hexdigest()[:24]}.json"
    _values[name] = packed
    return f"{base_path()}{VALUES}/{name}"


def _value(request: Request) -> Response:
    packed = _values.get(request.path_params["name"])
    if packed is None:  # from an earlier run of the app; a reload gives the page the new address
        return Response(status_code=404)
    return Response(packed, media_type="application/json", headers=HEADERS)


def routes(places: Iterable[Path]) -> list[BaseRoute]:
    """Return the routes for `st.App` to these folders and files, and to all served values."""
    return [
        Route(f"{VALUES}/{{name}}", _value),
        *(
            Mount(
                _route(place), _Unchanging(directory=place) if place.is_dir() else _OneFile(place)
            )
            for place in places
        ),
    ]
