"""Texts on a llama.cpp server, one step after another, against bare HTTP requests to it.

    python -m benchmarks servers [--address http://127.0.0.1:8080] [--seconds 10] [--quick]

Each text is a thread of this process with its own `Decoder`. Beside them, as many bare clients post
the same requests over their own connections and read the answers, but decode nothing. Both take
turns in one run. Then as many visitors step in the app itself, over its live channel, and 200
visitors at a calm pace. Without an address, the server is xllamacpp's, with the bundled model in
float32 and 32 slots; it shares this computer's processors.
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
import psutil

from benchmarks.measures.company import SETTINGS, Over, Seen, Work, together
from benchmarks.page.crowds import costs
from benchmarks.page.servers import APP, served
from benchmarks.page.texts import SETTINGS as PAGE_SETTINGS
from benchmarks.page.visitors import Plan, measure_visitors
from benchmarks.report import Report, at_least
from engine.backend import connect
from engine.backend.client import Answer, Client
from engine.backend.llama_cpp import LlamaCpp
from engine.backend.server_model import ServerModel
from engine.decoding import Decoder
from engine.measure import PACKAGES
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.gguf_files import write_gguf

COUNTS = (1, 8, 32)
GOAL = 0.8
LENGTH = 16  # tokens, after which a text begins again
SLOT = 256  # positions of each slot
SOCKETS, ADDRESSES, PACE_S = 200, 8, 4.0
BUNDLED = Path(__file__).parents[1] / "models" / "target"
JSON = {"Content-Type": "application/json"}


class Recorder(Client):
    """A client that keeps the body of every request for scores, by session."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.bodies: dict[str, list[bytes]] = defaultdict(list)

    def post(self, path: str, body: Mapping[str, Any], kind: type, *, session: str = "") -> Answer:
        """Send a POST request, and keep its body if it belongs to a session."""
        if session:
            self.bodies[session].append(msgspec.json.encode(body))
        return super().post(path, body, kind, session=session)


def measure(report: Report, address: str, options: argparse.Namespace) -> None:
    """Measure all figures."""
    model = connect(address, listed=options.listed)
    recorder = Recorder(address)
    recorded = ServerModel(LlamaCpp(recorder), options.listed)
    recorder.bodies.clear()  # those of its checks
    texts = [_decoder(recorded, number) for number in range(max(options.counts))]
    with ThreadPoolExecutor(len(texts)) as threads:
        list(threads.map(lambda text: list(text.run(options.length)), texts))
    report.section(f"{model.name}, {model.listed:,} tokens a step")
    bodies = list(recorder.bodies.values())
    for count in options.counts:
        apps = [_app(model, number, options.length) for number in range(count)]
        bares = [_bare(address, bodies[number]) for number in range(count)]
        seen: dict[str, list[Seen]] = {"app": [], "bare": []}
        for _ in range(options.turns):
            seen["app"].append(_turn(options.seconds, apps))
            seen["bare"].append(_turn(options.seconds, bares))
        _rates(report, count, seen)


def measure_visits(report: Report, address: str, options: argparse.Namespace) -> None:
    """Measure visitors of the app, whose model is on the server; each plan restarts the app."""
    report.section("Visitors of the app, over the live channel")
    settings = dict(PAGE_SETTINGS)
    # After top-k, as a server lists only some tokens.
    settings["min_new_tokens"] = settings.pop("min_new_tokens")
    plan = partial(Plan, settings=settings, steps=options.length)
    plans = [partial(plan, visitors=count) for count in options.counts]
    calm = {"steps": options.length // 4, "every": PACE_S, "addresses": ADDRESSES}
    for make in (*plans, partial(plan, visitors=options.sockets, **calm)):
        with served(APP, address) as app:
            made = make(app.url)
            seen, cpu = measure_visitors(made, app.cpu_ms)
            memory = psutil.Process(app.process.pid).memory_info().rss / 1e6
        pace = f"a step each {made.every:g} s" if made.every else "flat out"
        label = f"{made.visitors} visitor{'' if made.visitors == 1 else 's'}, {pace}"
        costs(report, label, seen, cpu)
        report.add(f"{label}: the app's memory", memory, "MB")


def _decoder(model: ServerModel, number: int) -> Decoder:
    return Decoder(model, f"Text {number}: once upon a time", SETTINGS.replace(seed=number))


def _app(model: ServerModel, number: int, length: int) -> Work:
    """Return the work of one text; it begins again after `length` tokens."""
    decoder = _decoder(model, number)

    def work(seen: Seen, over: Over) -> None:
        while not over() or not seen.done:
            if not decoder.can_go_on(length):
                decoder.rewind(0)
            seen.time(decoder.step)
            seen.tokens += 1

    return work


def _bare(address: str, bodies: Sequence[bytes]) -> Work:
    """Return the work of one bare client, which posts recorded requests."""
    parts = urlsplit(address)
    following = cycle(bodies)

    def ask(connection: http.client.HTTPConnection) -> int:
        connection.request("POST", f"{parts.path}/completion", next(following), JSON)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the server answered {answer.status}: {content[:200]!r}")
        return len(content)

    def work(seen: Seen, over: Over) -> None:
        # A new one for each turn, as the server closes those that are idle for some seconds.
        with closing(http.client.HTTPConnection(parts.hostname, parts.port)) as connection:
            while not over() or not seen.done:
                seen.time(lambda: seen.notes.append(ask(connection)))
                seen.tokens += 1

    return work


def _turn(seconds: float, works: Sequence[Work]) -> Seen:
    """Run all works together; `cpu_ms` of the result is the processor time of all steps."""
    before = time.process_time()
    every = together(seconds, *works)
    both = Seen.of_all(every)
    both.cpu_ms = [(time.process_time() - before) * 1e3]
    both.notes = [note for seen in every for note in seen.notes]
    return both


def _rates(report: Report, count: int, seen: Mapping[str, Sequence[Seen]]) -> None:
    name, rates = f"{count} text{'' if count == 1 else 's'}", {}
    for kind, turns in seen.items():
        steps = sum(turn.tokens for turn in turns)
        rates[kind] = steps / sum(turn.seconds for turn in turns)
        p50, p95 = np.percentile([ms for turn in turns for ms in turn.ms], (50, 95))
        own = sum(sum(turn.cpu_ms) for turn in turns) / steps
        report.add(
            f"{name}, {kind}: steps/s",
            rates[kind],
            detail=f"p50 {p50:.1f}, p95 {p95:.1f}, here {own:.1f} ms of processor time a step",
            p50=float(p50),
            p95=float(p95),
            steps=steps,
            processor_ms=own,
        )
    report.add(f"{name}: app / bare", rates["app"] / rates["bare"], goal=at_least(GOAL))
    sizes = [size for turn in seen["bare"] for size in turn.notes]
    report.add(f"{name}: an answer", float(np.mean(sizes)), "bytes")


@contextmanager
def _server(options: argparse.Namespace) -> Iterator[str]:
    """Yield the address of a server, started here if none is given."""
    if options.address:
        yield options.address
        return
    slots = max(options.counts)
    with tempfile.TemporaryDirectory() as folder:
        file = write_gguf(BUNDLED, Path(folder) / "target.gguf")
        with LlamaServer(file, context=SLOT * slots, slots=slots) as server:
            yield server.address


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks servers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--address", help="of a llama.cpp server; by default, one is started")
    parser.add_argument("--listed", type=int, default=1_000, help="tokens that it lists per step")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=4, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="short: to see that it runs")
    options = parser.parse_args(arguments)
    options.counts, options.length, options.sockets = COUNTS, LENGTH, SOCKETS
    if options.quick:
        options.counts, options.length, options.sockets = (2,), 4, 3
        options.seconds, options.turns = 0.2, 1
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    report = Report("servers", (*PACKAGES, "xllamacpp", "httpx2", "msgspec"))
    with _server(options) as address:
        measure(report, address, options)
        measure_visits(report, address, options)
    return report.finish()


if __name__ == "__main__":
    main()
