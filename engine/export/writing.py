"""Values as source code: nothing in a prompt or a name may end the string it is written in.

Python strings are written by `repr`, which also escapes invisible characters (control characters,
marks that change the direction of text). JSON is pure ASCII without a single quote, so that a shell
takes it unchanged between single quotes.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence

from engine.errors import msg

INDENT = "    "


def python_literal(value: object) -> str:
    """A Python expression that evaluates to `value`."""
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")' if value > 0 else 'float("-inf")'
    if isinstance(value, dict):
        items = (f"{python_literal(k)}: {python_literal(v)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_literal, value)) + "]"
    return repr(value)


def python_call(function: str, arguments: Sequence[str], keywords: Mapping[str, object]) -> str:
    """A call over several lines, e.g. ``f(\\n    x,\\n    top_k=5,\\n)``.

    Args:
        function: the function to call.
        arguments: expressions, written first and unchanged.
        keywords: keyword arguments, written as literals.
    """
    lines = [*arguments, *(f"{name}={python_literal(value)}" for name, value in keywords.items())]
    return f"{function}(\n" + "".join(f"{INDENT}{line},\n" for line in lines) + ")"


def shell_json(value: object) -> str:
    """`value` as JSON between single quotes: one argument for any POSIX shell."""
    return "'" + _json(value).replace("'", "\\u0027") + "'"


def _json(value: object, line: str = "\n  ") -> str:
    """JSON with a line for each entry of an object; a list takes one, however long it is."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    entries = (f"{line}{json.dumps(str(k))}: {_json(v, line + '  ')}" for k, v in value.items())
    return "{" + ",".join(entries) + line[:-2] + "}"


def curl(url: str, body: Mapping[str, object], *, key: str | None = None) -> str:
    """A POST request with a JSON body.

    Args:
        url: the address.
        body: the request.
        key: name of the environment variable that holds the key, if one is needed.
    """
    lines = [f"curl {url}", "-H 'Content-Type: application/json'"]
    if key is not None:
        lines.append(f'-H "Authorization: Bearer ${key}"')
    return " \\\n  ".join([*lines, f"-d {shell_json(body)}"])


def shell_command(program: str, flags: Sequence[tuple[str, str | None]]) -> str:
    """A command line, one flag with its value to a line; a value may hold anything but NUL."""
    lines = [flag if value is None else f"{flag} {shlex.quote(value)}" for flag, value in flags]
    return " \\\n  ".join([program, *lines])


MAX_SEED_32 = 2**32 - 2  # the highest 32-bit number itself means "choose one" in llama.cpp


def seed_of_32_bits(seed: int) -> tuple[int, str]:
    """A seed for an engine that takes 32 bits, and a remark about it."""
    remark = msg(
        "the same seed gives different random numbers in another engine, so different tokens"
    )
    if seed <= MAX_SEED_32:
        return seed, remark
    return seed % (MAX_SEED_32 + 1), msg("{remark}; it is shortened to 32 bits there", remark)
