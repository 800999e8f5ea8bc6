"""The floor: the same step on the smallest page that draws both charts.

It has one WebSocket, the engine's step, 20 logits and probabilities as JSON, and one figure redrawn
in place. No page for people can cost less.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import plotly
from starlette.responses import FileResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from benchmarks.page.texts import begun_text, leading
from engine.decoder import Decoder
from engine.sampling import Distribution

BARS = 20
PLOTLY = Path(plotly.__file__).parent / "package_data"


def routes() -> list[BaseRoute]:
    """Return the routes of the page, its Plotly.js and its steps."""
    return [
        Route("/floor", _page),
        Mount("/plotly", StaticFiles(directory=PLOTLY)),
        WebSocketRoute("/floor/steps", _steps),
    ]


async def _page(_request) -> FileResponse:
    return FileResponse(Path(__file__).with_suffix(".html"))


async def _steps(socket: WebSocket) -> None:
    """Answer `nothing` with nothing, and any other message with a step."""
    await socket.accept()
    tokens = int(socket.query_params.get("tokens", "1"))
    decoder = await asyncio.to_thread(begun_text, tokens)
    try:
        while True:
            asked = await socket.receive_text()
            step = "" if asked == "nothing" else await asyncio.to_thread(_step, decoder)
            await socket.send_text(step)
    except WebSocketDisconnect:
        pass


def _step(decoder: Decoder) -> str:
    shaped: list[Distribution] = []
    decoder.on_shaped = shaped.append
    step = decoder.step()
    ids = leading(shaped[0].logits, BARS)
    return json.dumps(
        {
            "token": step.text,
            "logits": shaped[0].logits[ids].tolist(),
            "probabilities": shaped[0].probs[ids].tolist(),
        }
    )
