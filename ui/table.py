"""The candidates table as HTML: rows in rank order, removed ones in their place."""

from __future__ import annotations

from ui.charts.data import Row, StepView
from ui.labels import html_text, percent

STAGE_NAMES = {
    "repetition_penalty": "repetition penalty",
    "temperature": "greedy (not the highest)",
    "top_k": "top-k",
    "top_p": "top-p",
    "min_p": "min-p",
}

STYLE = """
<style>
.dv-scroll { overflow-x: auto; }
.dv-table { border-collapse: collapse; width: 100%; font-size: 14px; }
.dv-table caption { text-align: left; font-weight: 600; padding: 2px 0 4px; caption-side: top; }
.dv-table th, .dv-table td { padding: 2px 8px; text-align: right; white-space: nowrap;
  border: 0; border-bottom: 1px solid rgba(138,148,163,0.3); font-variant-numeric: tabular-nums; }
.dv-table thead th { font-weight: 500; opacity: 0.85; }
.dv-table .token { text-align: left; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas,
  monospace; font-weight: 500; white-space: pre; max-width: 16rem; overflow: hidden;
  text-overflow: ellipsis; unicode-bidi: isolate; }
.dv-table .state { text-align: left; }
.dv-table .removed td, .dv-table .removed th { opacity: 0.8; }
.dv-table .chosen td, .dv-table .chosen th { font-weight: 700;
  border-bottom: 2px solid #e69f00; border-top: 2px solid #e69f00; }
.dv-table .bar { background-repeat: no-repeat; background-position: left center;
  background-image: linear-gradient(rgba(43,135,200,0.42) 0 0); min-width: 8rem; }
.dv-table .removed .bar { background-image: repeating-linear-gradient(135deg,
  rgba(138,148,163,0.55) 0 3px, transparent 3px 6px); }
.dv-table .chosen .bar { background-image: linear-gradient(rgba(230,159,0,0.55) 0 0); }
</style>
"""


def _head(view: StepView) -> str:
    columns = (
        ("rank", ""),
        ("token", ' class="token"'),
        ("id", ""),
        ("logit", ""),
        (view.prob_name, ""),
        ("cumulative", ""),
        ("kept / removed by", ' class="state"'),
        ("final probability", ""),
    )
    return "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in columns)


def candidates(view: StepView) -> str:
    """The table ``Candidates`` of an inspected step."""
    lowest = min(row.logit for row in view.rows)
    highest = max(row.logit for row in view.rows)
    span = (highest - lowest) or 1.0
    # One scale for both, so that a row's two bars can be compared.
    widest = max(max(row.prob, row.final_prob) for row in view.rows) or 1.0
    body = []
    for row in view.rows:
        logit_share = 0.1 + 0.9 * (row.logit - lowest) / span if lowest > float("-inf") else 0.0
        shares = (logit_share, row.prob / widest, row.final_prob / widest)
        body.append(_line(row, shares))
    body.append(_others(view))
    return (
        '<div class="dv-scroll"><table class="dv-table"><caption>Candidates</caption>'
        f"<thead><tr>{_head(view)}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _line(row: Row, shares: tuple[float, float, float]) -> str:
    logit, prob, final = shares
    cells = (
        f'<td>{row.rank:,}</td><th scope="row" class="token">{html_text(row.label)}</th>'
        f"<td>{row.token_id}</td>"
        f"{_bar(f'{row.logit:.3f}', logit)}{_bar(percent(row.prob), prob)}"
        f'<td>{percent(row.cumulative)}</td><td class="state">{_state(row)}</td>'
        f"{_bar(percent(row.final_prob), final)}"
    )
    return f'<tr class="{row.state}{"" if row.removed_by is None else " removed"}">{cells}</tr>'


def _state(row: Row) -> str:
    removed = STAGE_NAMES.get(row.removed_by, row.removed_by)
    text = "kept" if row.removed_by is None else f"removed by {removed}"
    return f"▶ chosen, {text}" if row.chosen else text


def _bar(text: str, share: float) -> str:
    """A cell with its number at the right and a bar in what is left of the cell."""
    width = f"calc({max(0.0, share):.4f} * (100% - 4.6rem))"
    return f'<td class="bar" style="background-size: {width} 72%">{text}</td>'


def _others(view: StepView) -> str:
    return (
        f'<tr class="others"><td></td><th scope="row" class="token">{view.others:,} others</th>'
        f"<td></td><td></td><td>{percent(view.others_prob)}</td><td>100.00 %</td>"
        f'<td class="state"></td><td>{percent(view.others_final)}</td></tr>'
    )
