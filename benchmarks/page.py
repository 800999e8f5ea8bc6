"""`python -m benchmarks page`: what a person waits for on the step page, in Chromium.

From the press of a button or key to the frame that shows its result: a token in the strip, the
table, and all charts. The app runs in a process of its own, started as `make run` starts it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import Page, WebSocket, sync_playwright
from transformers import PreTrainedTokenizerFast, Qwen3Config

from benchmarks.engine import random_model
from benchmarks.report import Report, at_least, at_most
from tests.browser.chromium import REMEDY, find

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = "bundled"
LARGE = {"152k-bf16": torch.bfloat16, "152k-f32": torch.float32}
LARGE_VOCABULARY = 151_936

# Resolves with the milliseconds from the next press to the frame after everything is drawn: tokens
# and table are in place when the charts say that they are.
WATCH = """
must_grow => {
  const root = document.querySelector('.dv'), page = root.decoding;
  const draws = page.draws, length = page.state.steps.length;
  window.watched = new Promise(resolve => {
    let pressed = 0;
    const press = () => { pressed ||= performance.now(); };
    for (const kind of ['pointerdown', 'keydown']) {
      document.addEventListener(kind, press, { capture: true, once: true });
    }
    const look = event => {
      const grown = !must_grow || page.state.steps.length > length;
      if (!pressed || !grown || page.draws === draws || event.detail !== 'distribution') return;
      root.removeEventListener('dv-drawn', look);
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve(performance.now() - pressed);
        channel.port2.postMessage(0);
      });
    };
    root.addEventListener('dv-drawn', look);
  });
}
"""


@dataclass(frozen=True)
class Effort:
    """How often things are done."""

    clicks: int
    slides: int
    play_seconds: float
    long_text: int


FULL = Effort(clicks=40, slides=40, play_seconds=5.0, long_text=1000)
QUICK = Effort(clicks=10, slides=10, play_seconds=2.0, long_text=200)


def save_large(folder: Path, dtype: torch.dtype) -> Path:
    """A checkpoint with a large vocabulary, random weights, and a tokenizer that knows words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{number}": number for number in range(LARGE_VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=LARGE_VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    model = random_model(config, dtype, "cpu")
    model.generation_config.eos_token_id = None
    model.save_pretrained(folder)
    return folder


@contextlib.contextmanager
def served(model: str | None) -> Iterator[tuple[str, float]]:
    """Address of the app on a free port, and when its process was started (`perf_counter`)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    environment.pop("DECODING_MODEL", None)
    if model:
        environment["DECODING_MODEL"] = model
    started = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while server.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2),
            ):
                break
            time.sleep(0.02)
        else:
            raise RuntimeError(f"The app ended with code {server.returncode} before it answered.")
        yield url, started
    finally:
        server.terminate()
        server.wait(timeout=20)


class Measured:
    """The step page in a browser, and what passes over its socket."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.received = 0
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        def count(payload: str | bytes) -> None:
            self.received += len(payload)

        socket.on("framereceived", count)

    def open(self, url: str) -> None:
        """Until the table and all charts are on screen."""
        self.page.goto(url)
        self.page.wait_for_selector("table[aria-label=Candidates] tbody tr button")
        self.page.wait_for_function("document.querySelector('.dv').decoding?.charts_drawn > 0")
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def value(self, expression: str):
        """A JavaScript expression over `page`, the component's own data."""
        return self.page.evaluate(
            f"(() => {{ const page = document.querySelector('.dv').decoding; "
            f"return {expression} }})()"
        )

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def idle(self) -> None:
        self.page.wait_for_function("!document.querySelector('.dv').decoding.actions.is_busy()")
        self.page.wait_for_timeout(700)  # the cost charts follow at their own pace

    def steps(self, count: int) -> tuple[list[float], float]:
        """Milliseconds of each click on Step, and bytes received for each."""
        button = self.page.get_by_role("button", name="Step", exact=True)
        times = []
        self.idle()
        before = self.received
        for _ in range(count):
            if self.value("page.state.stop.is_over"):  # random text may end
                self.press("Rewind")
                self.idle()
            self.page.evaluate(f"({WATCH})(true)")
            button.click()
            times.append(self.page.evaluate("window.watched"))
        return times, (self.received - before) / count

    def slides(self, count: int) -> list[float]:
        """Milliseconds of each move of the temperature by one place."""
        slider = self.page.get_by_role("slider", name="Temperature", exact=True)
        slider.fill("0.5")
        slider.focus()
        self.idle()
        times = []
        for _ in range(count):
            self.page.evaluate(f"({WATCH})(false)")
            self.page.keyboard.press("ArrowRight")
            times.append(self.page.evaluate("window.watched"))
        return times

    def play(self, seconds: float) -> dict[str, float]:
        """Per second of Play at full speed: tokens in strip and table, draws of the charts."""
        self.idle()
        counts = "[page.state.steps.length, page.charts_drawn, performance.now()]"
        self.press("Play")
        self.page.wait_for_timeout(300)
        first = self.value(counts)
        self.page.wait_for_timeout(seconds * 1000)
        last = self.value(counts)
        self.press("Pause")
        passed = (last[2] - first[2]) / 1000
        names = ("strip and table", "charts")
        return {name: (last[i] - first[i]) / passed for i, name in enumerate(names)}

    def run_to(self, length: int) -> None:
        """Generate without watching, up to so many tokens."""
        self.page.get_by_text("Stop rules, trace, keys").click()
        field = self.page.get_by_role("spinbutton", name="Max tokens")
        field.fill(str(length))
        field.press("Enter")
        self.page.get_by_text("Stop rules, trace, keys").click()
        self.press("Run to end")
        self.page.wait_for_function(
            "!document.querySelector('.dv').decoding.actions.is_busy() &&"
            " document.querySelector('.dv').decoding.state.mode === 'paused'",
            timeout=120_000,
        )


def percentiles(times: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))


def measure(report: Report, name: str, model: str | None, page: Page, effort: Effort) -> None:
    """All figures for one model."""
    measured = Measured(page)
    report.section(name)
    with served(model) as (url, started):
        measured.open(url)
        report.add(
            "start -> first page painted, charts included",
            time.perf_counter() - started,
            "s",
            goal=at_most(6),
        )
        began = time.perf_counter()
        measured.open(url)
        report.add("reload -> painted", time.perf_counter() - began, "s")
        page.get_by_role("slider", name="Temperature", exact=True).fill("2")
        page.get_by_role("slider", name="Top-p", exact=True).fill("1")
        measured.run_to(10)
        _interact(report, measured, effort, "after 10 tokens", with_goals=True)
        measured.run_to(effort.long_text)
        reached = measured.value("page.state.steps.length")
        _interact(report, measured, effort, f"after {reached:,} tokens", with_goals=False)


def _interact(
    report: Report, measured: Measured, effort: Effort, when: str, *, with_goals: bool
) -> None:
    clicks, payload = measured.steps(effort.clicks)
    for what, times, limits in (
        ("Step -> painted", clicks, (130, 180)),
        ("slider -> painted", measured.slides(effort.slides), (33, 60)),
    ):
        for rank, value, limit in zip(("p50", "p95"), percentiles(times), limits, strict=True):
            goal = at_most(limit) if with_goals else None
            report.add(f"{what}, {rank}, {when}", value, "ms", goal=goal)
    report.add(f"payload of a step, {when}", round(payload), "bytes")
    measured.page.get_by_role("slider", name="Temperature", exact=True).fill("2")
    measured.page.get_by_label("Speed", exact=True).fill("21")
    measured.page.get_by_text("Stop rules, trace, keys").click()
    field = measured.page.get_by_role("spinbutton", name="Max tokens")
    field.fill("2000")
    field.press("Enter")
    measured.page.get_by_text("Stop rules, trace, keys").click()
    rates = measured.play(effort.play_seconds)
    for what, least in (("strip and table", 20), ("charts", 10)):
        goal = at_least(least) if with_goals else None
        report.add(f"Play, {what}, {when}", rates[what], "/ s", goal=goal)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks page", description=__doc__)
    parser.add_argument("--models", default=",".join([BUNDLED, *LARGE]), help="which models")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    chosen = parser.parse_args(arguments)
    executable = find()
    if executable is None:
        sys.exit(f"The benchmark found no Chromium that runs. {REMEDY}")
    report = Report("page")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = ["--disable-gpu", *(["--no-sandbox"] if is_root else [])]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        for name in chosen.models.split(","):
            model = None
            if name in LARGE:
                model = str(save_large(Path(scratch) / name, LARGE[name]))
            elif name != BUNDLED:
                sys.exit(f"Known models are {BUNDLED}, {', '.join(LARGE)}; got {name}.")
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            measure(report, name, model, context.new_page(), QUICK if chosen.quick else FULL)
            context.close()
        browser.close()
    report.finish()
