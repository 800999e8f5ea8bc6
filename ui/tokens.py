"""The token strip: every token of prompt and text as one list item, as HTML."""

from __future__ import annotations

from engine.decoder import Decoder
from engine.trace import Step
from engine.vocabulary import readable
from ui.labels import html_text, percent, token_label

# Share of blue in the background, by probability in the draw: sequential in lightness, so that it
# reads without colour vision. The legend shows the same five.
_SHADES = ((0.0, 0.06), (0.05, 0.18), (0.2, 0.32), (0.5, 0.47), (0.8, 0.62))

STYLE = """
<style>
.dv-tokens { display: flex; flex-wrap: wrap; gap: 3px 2px; margin: 0; padding: 4px 2px !important;
  list-style: none; font: 15px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
/* Reversed, so that a long text is scrolled to its end from the start. */
.dv-tokens-box { max-height: 12rem; overflow-y: auto; display: flex;
  flex-direction: column-reverse; }
.dv-tokens li { margin: 0; padding: 1px 3px; border: 1px solid transparent; border-radius: 3px;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; font-size: 15px; }
.dv-tokens .prompt { opacity: 0.72; }
.dv-tokens .forced { border: 1px dashed #d55e00; }
.dv-tokens .special { border: 3px double #8a94a3; font-style: italic; }
.dv-tokens .inspected { outline: 2px solid #e69f00; outline-offset: 1px; }
.dv-legend { display: flex; flex-wrap: wrap; gap: 2px 12px; font-size: 12px; opacity: 0.85; }
.dv-legend span span { white-space: nowrap; padding: 0 6px; border-radius: 3px; margin-left: 2px; }
</style>
"""


def shade(probability: float) -> float:
    """Share of blue behind a token of this probability."""
    return next(alpha for least, alpha in reversed(_SHADES) if probability >= least)


def strip(decoder: Decoder, inspected: int | None) -> str:
    """The list ``Tokens``: prompt tokens grey, generated ones shaded by probability.

    Args:
        decoder: the run.
        inspected: index of the step that the page shows, None where there is none.
    """
    vocabulary = decoder.model.vocabulary
    items = [
        _item(
            vocabulary.label(token_id),
            ["prompt", "special"] if vocabulary.is_special(token_id) else ["prompt"],
            f"prompt token, id {token_id}",
        )
        for token_id in decoder.prompt_ids
    ]
    items += [_generated(step, step.index == inspected, vocabulary.label) for step in decoder.steps]
    listed = f'<ol class="dv-tokens" role="list" aria-label="Tokens">{"".join(items)}</ol>'
    return f'<div class="dv-tokens-box">{listed}</div>{LEGEND}'


def _generated(step: Step, inspected: bool, label) -> str:
    classes = ["generated"]
    title = [f"token {step.index + 1}, id {step.token_id}", percent(step.probability)]
    title.append(f"rank {step.rank:,}")
    for name, on in (("forced", step.forced), ("special", step.is_special)):
        if on:
            classes.append(name)
            title.append(name)
    if inspected:
        classes.append("inspected")
    style = f"background: rgba(43,135,200,{shade(step.probability)})"
    return _item(label(step.token_id), classes, ", ".join(title), style, inspected)


def _item(
    label: str, classes: list[str], title: str, style: str = "", current: bool = False
) -> str:
    attributes = f'class="{" ".join(classes)}" title="{html_text(title)}"'
    if style:
        attributes += f' style="{style}"'
    if current:
        attributes += ' aria-current="true"'
    return f"<li {attributes}>{html_text(token_label(label))}</li>"


def _legend() -> str:
    edges = [f"{least:.0%}" for least, _ in _SHADES] + ["100%"]
    swatches = "".join(
        f'<span style="background: rgba(43,135,200,{alpha})">{low}–{high}</span>'
        for (_, alpha), low, high in zip(_SHADES, edges, edges[1:], strict=False)
    )
    return (
        '<div class="dv-legend"><span>Grey: prompt.</span>'
        f"<span>Probability in the draw: {swatches}</span>"
        "<span>Dashed edge: forced.</span><span>Double edge: special token.</span>"
        "<span>Orange outline: inspected.</span></div>"
    )


LEGEND = _legend()


def pending_note(data: bytes) -> str:
    """What to say about bytes of a character that no token has finished yet."""
    return f"Unfinished character: {readable(data)}" if data else ""
