"""A slider on the step page changes the screen at once, to the engine's own results."""

import pytest
from playwright.sync_api import Page, expect

from engine.decoder import Decoder
from engine.sampling import SamplingSettings
from engine.sampling.distribution import Candidate
from engine.sampling.ranking import RankedRow
from tests.browser.step_page import (
    PATIENCE_MS,
    alert,
    button,
    choose_setting,
    count_frames,
    figure,
    ids,
    prompt,
    set_samplers,
    settle,
    slider,
    start,
    state,
    take_steps,
    wait_for,
    wait_until,
)
from tests.bundled import bundled
from ui.texts.settings import parse_settings

OPEN = "Once upon a time"
GUIDED, NEGATIVE = "Once upon a time, a sad little", "Once upon a time, a little"

LAYER = "document.querySelector('.dv-charts-distribution .dv-chart-layer')"
SOFTMAX_BARS = f"""
() => {{
  const traces = {LAYER}.data.filter(trace => trace.xaxis === 'x2');
  const of = name => traces.find(trace => trace.name === name).y;
  return of('after settings').map((height, place) => height ?? of('chosen')[place] ?? 0);
}}
"""


@pytest.fixture
def page(step_page: Page) -> Page:
    """The step page as it opens."""
    return step_page


def decoder_of(text: str, settings: SamplingSettings, steps: int) -> Decoder:
    decoder = Decoder(bundled(), text, settings)
    for _ in range(steps):
        decoder.step()
    return decoder


def bars_become(page: Page, candidates: list[Candidate]) -> None:
    """Wait until the softmax chart shows these candidates; a drawing takes a frame or two."""
    wait_until(
        page,
        f"""heights => {{
          const shown = ({SOFTMAX_BARS})();
          return shown.length > 0 && shown.every((height, place) =>
            Math.abs(height - heights[place]) <= Math.max(1e-6 * Math.abs(heights[place]), 1e-12));
        }}""",
        [candidate.final_prob for candidate in candidates],
    )


def test_dragged_slider_matches_engine_without_server_messages(page: Page):
    """Drag a real pointer over a recorded step, without a message to the server."""
    start(page, OPEN)
    take_steps(page, 3)
    knob = slider(page, "Temperature")
    knob.hover()
    wait_for(page, "!state.row.light")
    settle(page)
    settings, _ = parse_settings(state(page, "state.settings"))
    decoder = decoder_of(OPEN, settings, 3)
    assert ids(page) == decoder.token_ids
    sent = count_frames(page)
    box = knob.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    seen = set()
    for share in (0.3, 0.15, 0.6, 0.8, 0.99):
        page.mouse.move(box["x"] + box["width"] * share, middle, steps=3)
        dragged, _ = parse_settings(state(page, "state.settings"))
        seen.add(dragged.temperature)
        candidates = decoder.distribution(2, dragged).candidates(20)
        bars_become(page, candidates)
    assert sent() == 0, "a slider that moves must not wait for the server"
    assert len(seen) == 5
    page.mouse.up()
    assert ids(page) == decoder.token_ids


ROWS_ARE = """
JSON.stringify(view.rows.map(row => [row.id, row.removed_by])) === JSON.stringify(arg)
"""
CHAINS = [
    ({"top_p": 0.6, "temperature": 1.6}, ["top_p", "temperature", "top_k", "min_p"]),
    ({"typical_p": 0.5, "xtc": {"threshold": 0.05, "probability": 1.0}}, None),
]


def test_sampler_chains_match_the_engine_in_any_order(page: Page):
    start(page, OPEN)
    plain = state(page, "state.settings")
    for settings, order in CHAINS:
        state(page, "(actions.set(arg), actions.settle())", plain)
        set_samplers(page, **settings)
        if order:
            state(page, "(actions.set({ order: arg }), actions.settle())", order)
        settle(page)
        now = state(page, "state.settings")
        assert {name: now[name] for name in settings} == settings
        others = plain.keys() - settings.keys() - {"order"}
        assert {name: now[name] for name in others} == {name: plain[name] for name in others}
        chain, _ = parse_settings(now)
        decoder = decoder_of(OPEN, chain, 0)
        candidates = decoder.next_distribution().candidates(len(state(page, "view.rows")))
        expected = [(each.token_id, each.removed_by) for each in candidates]
        wait_for(page, ROWS_ARE, expected)  # the server's answer brings what it shapes
        bars_become(page, candidates)


def moved_and_drawn(page: Page, part: str, acts: list[list[object]]) -> list[list[list[str]]]:
    """Return a chart's paths, as moved and as drawn by Plotly at rest, and its y ranges.

    There is one entry for each action. Those after which Plotly draws at once, as an axis
    changes, are left out.
    """
    page.mouse.move(0, 0)
    return page.evaluate(
        """async ([part, acts]) => {
      const { actions } = document.querySelector('.dv').decoding, { animate, react } = Plotly;
      const layer = document.querySelector(`.dv-charts-${part} .dv-chart-layer`);
      const is_seen = path => !path.matches('.js-line') || path.style.strokeWidth !== '0px';
      const paths = () => Array.from(layer.querySelectorAll('.cartesianlayer path'))
        .filter(is_seen).map(path => path.getAttribute('d')).filter(d => d && d !== 'M0,0Z');
      const until = async is_so => { while (!is_so()) await new Promise(requestAnimationFrame); };
      const found = [];
      let begun = 0, ended = 0;
      const counted = draw => (node, ...all) => {
        if (node !== layer) return draw(node, ...all);
        begun += 1;
        return draw(node, ...all).finally(() => { ended += 1; });
      };
      Object.assign(Plotly, { animate: counted(animate), react: counted(react) });
      for (const [name, value] of acts) {
        const before = String(paths());
        begun = ended = 0;
        actions[name](value);
        await until(() => String(paths()) !== before);
        const moved = begun === 0 && paths();
        await until(() => ended > 0);
        const { yaxis, yaxis2 } = layer._fullLayout;
        if (moved) found.push([moved, paths(), [yaxis, yaxis2].map(axis => String(axis.range))]);
      }
      Object.assign(Plotly, { animate, react });
      return found;
    }""",
        [part, acts],
    )


def test_moved_bars_equal_those_that_plotly_draws(page: Page):
    start(page, OPEN)
    values = [0.9, 0.8, 0.7, 0.5, 1.4]
    found = moved_and_drawn(page, "distribution", [["set", {"temperature": t}] for t in values])
    assert len(found) >= 3
    assert len({tuple(ranges) for *_, ranges in found}) > 1  # axes drawn without the bars
    for moved, drawn, _ in found:
        assert len(moved) > 50
        assert moved == drawn


@pytest.mark.parametrize("tokens", [3, 160], ids=["bars", "one surface"])
def test_moved_costs_equal_those_that_plotly_draws(page: Page, tokens: int):
    start(page, OPEN)
    set_samplers(page, min_new_tokens=300)
    state(page, "actions.limit({ max_tokens: arg })", tokens)
    button(page, "Run to end").click()
    wait_for(page, "state.steps.length === arg && state.mode === 'paused'", tokens)
    settle(page)
    found = moved_and_drawn(page, "cost", [["step", {}]] * 6)
    assert len(found) >= 2
    for moved, drawn, _ in found:
        assert len(max(moved, key=len)) > 40
        assert moved == drawn


def test_redrawn_chart_equals_a_new_one(page: Page):
    start(page, OPEN)
    for changes in (
        {"temperature": 1.6},
        {"top_k": 10, "top_p": 0.8},
        {"temperature": 0.3},
        {"top_k": 0, "top_p": 1, "temperature": 1},
    ):
        set_samplers(page, **changes)
    candidates = decoder_of(OPEN, SamplingSettings(), 0).next_distribution().candidates(20)
    bars_become(page, candidates)
    page.mouse.move(0, 0)
    shapes = """layer => Array.from(layer.querySelectorAll('.cartesianlayer path'))
      .map(path => [path.getAttribute('d'), path.style.stroke].join())
      .filter(shape => !/^(M0,0Z)?,/.test(shape)).sort()"""
    afresh = f"""async () => {{
      const layer = {LAYER};
      const other = layer.parentNode.appendChild(layer.cloneNode(false));
      await Plotly.newPlot(other, structuredClone(layer.data), structuredClone(layer.layout));
      const found = ({shapes})(other);
      Plotly.purge(other);
      other.remove();
      return found;
    }}"""
    # The data arrive a frame or two before the drawing.
    until_equal = f"""async patience => {{
      const until = performance.now() + patience;
      for (;;) {{
        const wanted = await ({afresh})(), drawn = ({shapes})({LAYER});
        if (String(drawn) === String(wanted) || performance.now() > until) return [drawn, wanted];
        await new Promise(resolve => setTimeout(resolve, 20));
      }}
    }}"""
    drawn, wanted = page.evaluate(until_equal, PATIENCE_MS)
    assert len(drawn) > 15
    assert drawn == wanted


def test_charts_are_saved_as_png_at_double_size(page: Page, tmp_path):
    take_steps(page, 2)
    for name in ("Softmax", "KV cache"):
        expect(figure(page, name)).to_be_visible()
        with page.expect_download() as waiting:
            button(page, f"Save {name} as PNG").click()
        waiting.value.save_as(tmp_path / f"{name}.png")
        picture = (tmp_path / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG"), name
        size = [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)]
        assert size == [1920, 1200], name
        assert len(picture) > 15_000, name


# --- guidance -----------------------------------------------------------------------------------


def begin_guided(page: Page) -> None:
    prompt(page).fill(GUIDED)
    menu = page.locator("details.dv-settings")
    menu.locator("summary").click()
    menu.get_by_role("checkbox", name="Guidance").check()
    menu.get_by_role("textbox", name="Negative prompt").fill(NEGATIVE)
    menu.locator("summary").click()
    slider(page, "Guidance scale").fill("2")
    button(page, "Start").click()
    wait_for(page, "state.negative_tokens && state.prompt === arg", GUIDED)


def assert_rows_of(page: Page, decoder: Decoder, scale: float) -> None:
    raw = RankedRow(decoder.guided_rows(len(decoder.steps)).at(scale))
    rows = state(page, "view.rows")
    raw.sort_to_depth(len(rows))
    assert [row["id"] for row in rows] == raw.ids[: len(rows)].tolist()
    for row in rows:
        assert row["logit"] == raw.scores[row["id"]], "not the engine's bits"


def test_guidance_matches_engine_and_refuses_empty_prompt(page: Page):
    choose_setting(page, "checkbox", "Guidance", True)
    button(page, "Start").click()
    expect(alert(page, "The negative prompt is empty")).to_be_visible()
    button(page, "Dismiss").click()
    begin_guided(page)
    settle(page)
    settings, _ = parse_settings(state(page, "state.settings"))
    decoder = Decoder(bundled(), GUIDED, settings, negative_prompt=NEGATIVE, guidance_scale=2.0)
    assert_rows_of(page, decoder, 2.0)
    slider(page, "Guidance scale").hover()
    settle(page)
    state(page, "actions.guide(3.5)")
    wait_for(page, "state.row.scale === 3.5 && view.index === 0 && !view.missing")
    assert_rows_of(page, decoder, 3.5)
    take_steps(page, 1)
    decoder.guidance_scale = 3.5
    decoder.step()
    assert ids(page) == decoder.token_ids
    page.get_by_role("tab", name="Guidance").click()
    state(page, "actions.guide(1.5)")
    wait_for(page, "view.what_if?.is_scale_changed && state.row.scale === 1.5 && !state.row.light")
    button(page, "Show as recorded").click()
    wait_for(page, "!view.what_if && !view.missing && state.row.scale === 3.5 && !state.row.light")
    panel = page.get_by_role("tabpanel", name="Guidance")
    expect(panel.get_by_role("table", name="What guidance moved")).to_be_visible()
    expect(panel).to_contain_text("two passes")
    choose_setting(page, "checkbox", "Guidance", False)
    button(page, "Start").click()
    wait_for(page, "state.negative_tokens === null && state.steps.length === 0")
    expect(page.get_by_role("tab", name="Guidance")).to_be_hidden()


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.tolerates("net::ERR_FAILED")
def test_failed_chart_load_is_reported_and_retried(new_page: Page):
    page = new_page
    page.route("**/plotly.min.js", lambda route: route.abort())
    page.goto("/")
    failure = alert(page, "could not be loaded").first
    expect(failure).to_be_visible()
    page.unroute("**/plotly.min.js")
    failure.get_by_role("button", name="Retry").click()
    expect(failure).to_be_hidden()
    expect(page.locator("[data-part=picture] .main-svg").first).to_be_visible()
