"""The process that renders chat templates: a script of its own, started by `chat_template`.

A chat template is a program by somebody else. It may loop for ever or multiply a text until the
memory is full, and nothing within a process can stop it. So it runs here, under limits that the
system keeps: processor time (not on Windows), and memory (on Linux).

One request per line in JSON, one answer per line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable


def main(seconds: float, megabytes: int) -> None:
    """Answer requests until the other side closes.

    Args:
        seconds: processor time for one template.
        megabytes: memory for templates, on top of what the libraries take.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing that a library prints may look like an answer
    from transformers.utils.chat_template_utils import render_jinja_template

    _limit_memory(megabytes)
    _send(answers, {"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        _limit_time(seconds)
        answer = _answer(render_jinja_template, request)
        _limit_time(0)
        _send(answers, answer)


def _answer(render: Callable, request: dict) -> dict:
    try:
        (text,), _ = render(
            [request["messages"]],
            chat_template=request["template"],
            add_generation_prompt=True,
            **request["special_tokens"],
        )
        if len(text) > request["most_bytes"]:
            return {"size": len(text)}
        size = len(text.encode("utf-8", "surrogatepass"))
        return {"size": size} if size > request["most_bytes"] else {"text": text}
    except Exception as error:  # a program by somebody else: it fails in ways of its own
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"error": lines[0]}


def _send(answers, answer: dict) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _limit_time(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends the process


def _limit_memory(megabytes: int) -> None:
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
