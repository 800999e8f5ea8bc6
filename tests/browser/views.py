"""A view of a step, made in Chromium by the component's own modules."""

import base64

import numpy as np

from tests.browser.arithmetic import Case, seen_by
from ui.components.rows import pack_row
from ui.shared.settings import cards_of, plain_settings

VIEW = """({ header, data, state, tokens }) => {
  const { unpack_row, make_view, candidate, admit, trace_of } = window.modules;
  const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
  state.row = { ...unpack_row(header, bytes.buffer, 0), ...state.row, labels: new Map() };
  const view = make_view(state);
  return {
    view,
    candidates: tokens.map(token => candidate(state, view, token)),
    traces: tokens.map(token => trace_of(state, token)),
    admitted: tokens.map(token => admit(state, token)),
  };
}"""


def viewed(
    page,
    case: Case,
    *,
    chosen=None,
    point=None,
    exact=True,
    tokens=(),
    settings=None,
    seen=None,
    mirostat=None,
):
    """The view of a case, and what the browser says of some tokens.

    `settings` are what the browser's cards stand at, where not at what the step was taken with.
    `mirostat` is what the step before left, where that is not the case's own `mu`.
    """
    seen = seen_by(case) if seen is None else seen
    header, data = pack_row(
        case.logits, seen=[*seen, *([] if chosen is None else [chosen])], exact=exact
    )
    recorded = plain_settings(case.settings)
    steps = [{"id": token_id} for token_id in case.context[case.prompt_length :]]
    state = {
        "row": {
            "index": len(steps),
            "is_pending": chosen is None,
            "u": case.us[0] if case.us else None,
            "xtc_u": case.xtc_u,
            "mirostat": mirostat or case.plain_context["mirostat"],
            "chosen": chosen,
            "forced": False,
            "recorded_settings": recorded,
            "engine_settings": recorded,
            "engine_stages": [
                {
                    "name": stage.name,
                    "first_rank": stage.after.start + 1,
                    "survivors": stage.survivors,
                    "mass_removed": stage.mass_removed,
                    "entropy_bits": stage.entropy_bits,
                }
                for stage in (() if exact else case.distribution.stages)
            ],
        },
        "model": {"eos_ids": list(case.eos_ids)},
        "prompt_tokens": [{"id": token_id} for token_id in case.context[: case.prompt_length]],
        "steps": [*steps, {"id": chosen, "label": "chosen"}],
        "settings": plain_settings(case.settings, cards_of(case.settings))
        if settings is None
        else settings,
        "row_count": 15,
        "point": point,
        "manual": False,
    }
    found = [
        {
            "id": int(token),
            "raw_rank": case.raw_rank(token),
            "logit": float(case.logits[token]) if np.isfinite(case.logits[token]) else None,
        }
        for token in tokens
    ]
    argument = {"header": header, "data": base64.b64encode(data).decode(), "state": state}
    return page.evaluate(VIEW, {**argument, "tokens": found})
