"""The child that renders chat templates.

A chat template is a program of other people. It may loop for ever, or multiply a text until the
memory is full.
"""

from __future__ import annotations

from transformers.utils.chat_template_utils import render_jinja_template

from engine.guarded.child import Answer, serve


def answer(request: dict, data: bytes) -> Answer:
    """Messages in a template, as ``text``; its ``size`` if that is too large, or an error."""
    try:
        (text,), _ = render_jinja_template(
            [request["messages"]],
            chat_template=request["template"],
            add_generation_prompt=True,
            **request["special_tokens"],
        )
        if len(text) > request["most_bytes"]:
            return {"size": len(text)}, b""
        size = len(text.encode("utf-8", "surrogatepass"))
        return ({"size": size} if size > request["most_bytes"] else {"text": text}), b""
    except Exception as error:  # a program of other people: it fails in ways of its own
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"error": lines[0]}, b""


if __name__ == "__main__":
    serve(answer)
