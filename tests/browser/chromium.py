"""Finds the Chromium for the browser tests, and installs one if none is found.

`python tests/browser/chromium.py` (part of `make test`) tries three places in this order: the
program named by the environment variable CHROMIUM, a Chromium or Chrome on PATH, and Playwright's.
If none runs, it installs Debian's package (as root on Debian or Ubuntu), otherwise Playwright's.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
REMEDY = "Install Chromium or Chrome, or set CHROMIUM=/path/to/it, and run `make test` again."


def candidates() -> Iterator[str]:
    if chosen := os.environ.get("CHROMIUM"):
        yield chosen  # only this one: CHROMIUM is an explicit choice
        return
    yield from filter(None, map(shutil.which, NAMES))
    yield str(MAC)
    from playwright.sync_api import sync_playwright  # starts a driver, so only when needed

    with sync_playwright() as playwright:
        yield playwright.chromium.executable_path


def runs(executable: str) -> bool:
    # On Ubuntu `chromium-browser` may be a script that only says "install the snap", so run it.
    try:
        answer = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and "Chrom" in answer.stdout


def find() -> str | None:
    return next(filter(runs, candidates()), None)


def install() -> None:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get"):
        print("No Chromium found: installing Debian's package `chromium` with apt-get.", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        packages = ["install", "-y", "-qq", "--no-install-recommends", "chromium"]
        for step in (["update", "-qq"], packages):
            command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *step]
            if run(command, quiet) != 0:
                break
        else:
            if find():
                return
    print("No Chromium found: installing Playwright's own build.", flush=True)
    run([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))


def run(command: list[str], environment: dict[str, str]) -> int:
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:  # only failures are worth printing
        print(f"`{' '.join(command)}` failed:\n{done.stdout[-2000:]}", flush=True)
    return done.returncode


def main() -> int:
    executable = find()
    if executable is None and not os.environ.get("CHROMIUM"):
        install()
        executable = find()
    if executable is None:
        print(f"The browser tests found no Chromium that runs. {REMEDY}", file=sys.stderr)
        return 1
    print(f"Browser tests use {executable}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
