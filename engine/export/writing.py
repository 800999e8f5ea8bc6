"""Values as source code: nothing in a prompt or a name may end the string it is written in.

Python strings are written by `repr`, which also escapes invisible characters (control characters,
marks that change the direction of text). JSON is pure ASCII without a single quote, so that a shell
passes it on unchanged between single quotes.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence

from engine.errors import msg

INDENT = "    "


def python_literal(value: object) -> str:
    """Return a Python expression that evaluates to `value`."""
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")' if value > 0 else 'float("-inf")'
    if isinstance(value, dict):
        items = (f"{python_literal(k)}: {python_literal(v)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_literal, value)) + "]"
    return repr(value)


def python_call(function: str, arguments: Sequence[str], keywords: Mapping[str, object]) -> str:
    """Return a call over several lines, e.g. ``f(\\n    x,\\n    top_k=5,\\n)``.

    Args:
        function: the function to call.
        arguments: expressions, written first and unchanged.
        keywords: keyword arguments, written as literals.
    """
    lines = [*arguments, *(f"{name}={python_literal(value)}" for name, value in keywords.items())]
    return f"{function}(\n" + "".join(f"{INDENT}{line},\n" for line in lines) + ")"


def shell_json(value: object) -> str:
    """Return `value` as JSON between single quotes: one argument for any POSIX shell."""
    return "'" + _json(value).replace("'", "\\u0027") + "'"


def _json(value: object, line: str = "\n  ") -> str:
    """Return JSON with a line for each entry of an object; a list, however long, stays on one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    entries = (f"{line}{json.dumps(str(k))}: {_json(v, line + '  ')}" for k, v in value.items())
    return "{" + ",".join(entries) + line[:-2] + "}"


def curl(url: str, body: Mapping[str, object], *, key: str | None = None) -> str:
    """Return a curl command that posts a JSON body.

    Args:
        url: the address.
        body: the request.
        key: name of the environment variable that contains the key, if one is needed.
    """
    lines = [f"curl {url}", "-H 'Content-Type: application/json'"]
    if key is not None:
        lines.append(f'-H "Authorization: Bearer ${key}"')
    return " \\\n  ".join([*lines, f"-d {shell_json(body)}"])


def shell_command(program: str, flags: Sequence[tuple[str, str | None]]) -> str:
    """Return a command with one flag per line; a value may contain anything except NUL."""
    lines = [flag if value is None else f"{flag} {shlex.quote(value)}" for flag, value in flags]
    return " \\\n  ".join([program, *lines])


MAX_SEED_32 = 2**32 - 2  # the highest 32-bit number itself means "choose one" in llama.cpp


def seed_of_32_bits(seed: int) -> tuple[int, str]:
    """Return the seed for an engine whose seeds have 32 bits, and a remark on it."""
    remark = msg(
        "the same seed gives different random numbers in another engine, so different tokens"
    )
    if seed <= MAX_SEED_32:
        return seed, remark
    return seed % (MAX_SEED_32 + 1), msg("{remark}; it is shortened to 32 bits there", remark)
