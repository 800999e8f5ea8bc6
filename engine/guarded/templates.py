"""The child that renders chat templates.

A chat template is a third-party program. It may loop forever, or multiply a text until memory is
full.
"""

from __future__ import annotations

from transformers.utils.chat_template_utils import render_jinja_template

from engine.guarded.child import Answer, serve


def answer(request: dict, data: bytes) -> Answer:
    """Render messages in a template as ``text``; returns its ``size`` if too large, or an error."""
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
    except Exception as error:  # a third-party program fails in its own ways
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"error": lines[0]}, b""


if __name__ == "__main__":
    serve(answer)
