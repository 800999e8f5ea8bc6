"""The charts of the step component alone, in a browser, fed with made-up views."""

import base64
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.conftest import FIGURES

STEP = Path(__file__).resolve().parents[2] / "ui" / "components"
PLOTLY = files("plotly") / "package_data" / "plotly.min.js"
ORIGIN = "http://charts.test"
HOSTILE = ["<b>bold</b>", "<script>window.hit = 1</script>", "$x$", "x" * 500, "&lt;i&gt;"]

PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/css/base.css"><link rel="stylesheet" href="/css/charts.css">
<body><script type="module">
import { create } from '/js/parts/charts/charts.js';
import * as made_up from '/made_up.js';
window.made_up = made_up;
window.mount = plotly => {
  document.body.innerHTML = '<div class="dv"><div></div></div>';
  document.body.firstChild.dataset.plotly = plotly;
  window.calls = [];
  const note = name => (...given) => window.calls.push([name, ...given]);
  window.part = create(document.body.firstChild.firstChild,
    { inspect: note('inspect'), show: note('show') });
  window.state = made_up.state();
};
window.redraw = async (changes = {}, seed = 1, labels = [], why = 'step') => {
  const { part } = window;
  Object.assign(window.state, changes);
  window.view = made_up.view(seed, window.state.settings, labels);
  const [drawn, costs] = [part.drawn, part.drawn_costs];
  const is_first = costs === 0;
  part.update(window.state, window.view, why);
  while (part.drawn === drawn || (is_first && part.drawn_costs === 0)) {
    await new Promise(resolve => setTimeout(resolve, 5));
  }
};
window.unmount = () => window.part.destroy();
</script>"""

MADE_UP = """// A step whose scores fall off like Zipf's law, in the shape that view.js gives it.
const VOCAB = 2000;

const softmax = scores => {
  const weights = scores.map(score => Math.exp(score - scores[0]));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map(weight => weight / sum);
};

const entropy = probs => -probs.reduce((a, p) => a + (p > 0 ? p * Math.log2(p) : 0), 0);

export function view(seed, { temperature, top_k, top_p, undrawn = false }, labels) {
  const places = Array.from({ length: VOCAB }, (_, place) => place);
  const logits = places.map(place => 12 + seed / 7 - (1 + seed / 9) * Math.log(place + 1));
  const scores = logits.map(logit => logit / temperature);
  const [raw, probs] = [softmax(logits), softmax(scores)];
  let sum = 0;
  const sums = probs.map(prob => Math.min(1, sum += prob));
  const k = top_k || VOCAB;
  const nucleus = top_p < 1 ? sums.findIndex(value => value >= top_p * sums[k - 1]) + 1 : null;
  const kept = Math.min(k, nucleus ?? VOCAB);
  const mass = sums[kept - 1];
  const u = (seed * 0.37) % 1;
  const at = sums.findIndex(value => value / mass > u);
  const row = place => ({
    rank: place + 1, id: 300 + place, label: labels[place] ?? `␣token${place}`,
    logit: logits[place], score: scores[place], raw_prob: raw[place], prob: probs[place],
    cumulative: sums[place], removed_by: place < kept ? null : place < k ? 'top_p' : 'top_k',
    final_prob: place < kept ? probs[place] / mass : 0, chosen: place === at,
  });
  const ranks = places.map(place => place + 1).filter(rank => rank <= 100 || rank % 50 === 0);
  const at_ranks = values => ranks.map(rank => values[rank - 1]);
  const points = ['raw', 'temperature', 'top_k', 'top_p', 'renormalised', 'drawn'];
  return {
    index: 4, is_pending: false, vocab: VOCAB, exact: true, point: 5,
    points: points.map(name => ({ name, label: name })),
    rows: places.slice(0, 15).map(row),
    kept, cut: kept < VOCAB ? { after_rank: kept, stage: 'top_p', kept, mass } : null,
    stages: [{ name: 'top_k', on: top_k > 0, value: top_k, mass_removed: 1 - sums[k - 1] },
      { name: 'top_p', on: top_p < 1, value: top_p, mass_removed: 1 - mass / sums[k - 1] }],
    curve: { ranks, raw_probs: at_ranks(raw), probs: at_ranks(probs), cumulative: at_ranks(sums),
      final: ranks.map(rank => (undrawn ? null : rank <= kept ? probs[rank - 1] / mass : 0)) },
    top_k_rank: top_k || null, nucleus_rank: nucleus, min_p_rank: null,
    draw: undrawn ? null : { u, rank: at + 1, id: 300 + at, label: row(at).label, same: true },
    chosen: row(at), greedy: false, as_recorded: true,
    entropy: { raw: entropy(raw), tempered: entropy(probs), final: entropy(probs) },
  };
}

const step = (_, place) => ({
  id: place, forward_ms: place ? 5 : 40, shape_ms: 0.5, draw_ms: 0.2, total_ms: place ? 6 : 41,
  is_prefill: place === 0, reused: false, positions: 5 + place, cache_bytes: 3072 * (5 + place),
  cache_bytes_held: 3072 * 16, formula_bytes: 3072 * (5 + place),
});

export const state = () => ({
  session: 'a', run: 1, branch: 1, steps: Array.from({ length: 9 }, step), index: 4,
  mode: 'paused', enlarged: null, cache_formula: '2 x 6 x 2 x 64 x 2 bytes x positions',
  settings: { repetition_penalty: 1, temperature: 0.9, top_k: 10, top_p: 0.9, min_p: 0, seed: 0 },
});
"""

SHAPES = """layer => Array.from(layer.querySelectorAll('.cartesianlayer path'), path => [
  path.closest('.trace')?.getAttribute('class').replace(/trace\\w{6,}/, '') ?? '',
  path.getAttribute('d'),
  path.getAttribute('transform'),
  path.style.fill.replace(/url\\(.*/, 'pattern'),
  path.style.stroke,
]).filter(shape => shape[1] !== 'M0,0Z')  // nothing to be seen
  .map(shape => JSON.stringify(shape)).sort()"""


@pytest.fixture(scope="module")
def charts_page(browser: Browser) -> Iterator[Page]:
    """A page that has the modules and nothing of the app; any other request fails the tests."""
    problems: list[str] = []
    served = {"/": PAGE, "/made_up.js": MADE_UP}

    def answer(route: Route) -> None:
        address = urlsplit(route.request.url)
        if f"{address.scheme}://{address.netloc}" != ORIGIN:
            problems.append(f"request to another host: {route.request.url}")
            route.abort()
        elif address.path == "/plotly.min.js":
            route.fulfill(body=PLOTLY.read_bytes(), content_type="text/javascript")
        elif address.path in served:
            kind = "text/html" if address.path == "/" else "text/javascript"
            route.fulfill(body=served[address.path], content_type=kind)
        elif (file := STEP / address.path.lstrip("/")).is_file():
            route.fulfill(path=file)
        else:
            route.fulfill(status=404)

    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(15_000)
    context.route("**/*", answer)
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(f"uncaught exception: {error}"))
    page.goto(f"{ORIGIN}/")
    page.wait_for_function("() => Boolean(window.mount)")
    yield page
    context.close()
    assert not problems


@pytest.fixture
def charts(charts_page: Page) -> Iterator[Page]:
    """The charts, drawn once."""
    charts_page.evaluate("mount('/plotly.min.js')")
    charts_page.evaluate("redraw()")
    yield charts_page
    charts_page.mouse.move(0, 0)
    charts_page.evaluate("unmount()")


def figure(page: Page, name: str) -> Locator:
    return page.get_by_role("figure", name=name, exact=True)


def layer(page: Page, number: int = 0):
    return page.locator(".dv-chart-layer").nth(number)


def inside(page: Page, name: str, across: float, down: float = 0.4) -> tuple[float, float]:
    box = figure(page, name).locator(".dv-plot").bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def held(page: Page, name: str, axis: str) -> list[dict]:
    """What Plotly holds of the traces with this name on this x axis."""
    return layer(page).evaluate(
        """(layer, [name, axis]) => layer.data.filter(trace => trace.name === name
          && trace.xaxis === axis).map(trace => ({ y: trace.y, base: trace.base ?? 0 }))""",
        [name, axis],
    )


def zoomed_range(page: Page) -> list[float]:
    return layer(page).evaluate("layer => layer.layout.xaxis4.range")


def test_every_chart_is_a_named_figure_with_words(charts: Page):
    for name in FIGURES:
        expect(figure(charts, name)).to_be_visible()
        expect(figure(charts, name).locator(".dv-chart-text")).not_to_be_empty()
        expect(figure(charts, name).locator(".dv-spoken")).not_to_be_empty()
    expect(figure(charts, "Logits")).to_contain_text("after temperature (divided by 0.90)")
    expect(figure(charts, "KV cache")).to_contain_text("2 x 6 x 2 x 64 x 2 bytes x positions")
    expect(figure(charts, "Latency per step")).to_contain_text("166.7 tokens/s over the last 8")


def test_captions_quote_tokens_and_count_in_grammar(charts: Page):
    expect(figure(charts, "Softmax").locator(".dv-chart-text")).to_have_text(
        re.compile("^“\u2068␣token0\u2069” ")
    )
    charts.evaluate("redraw({ settings: { ...state.settings, top_k: 1 } })")
    expect(figure(charts, "Rank curve").locator(".dv-chart-text")).to_contain_text(
        re.compile(r"^1 of 2,000 tokens is kept\. It held \d+\.\d\d %; the 1,999 removed \d")
    )
    assert held(charts, "kept", "x4")[1]["y"] == [charts.evaluate("view.rows[0].prob")]


def test_legends_fade_what_is_not_on_the_chart(charts: Page):
    charts.wait_for_function("part.drawn_costs > 0")

    def absent(name: str) -> list[str]:
        return figure(charts, name).locator(".dv-legend-absent:visible").all_inner_texts()

    assert absent("Cumulative probability") == ["min-p"]
    assert absent("Latency per step") == ["reused", "higher than the axis"]
    width = figure(charts, "Cumulative probability").locator(".dv-legend").bounding_box()
    settings = "{ ...state.settings, top_k: 0, top_p: 1, undrawn: true }"
    charts.evaluate(f"redraw({{ settings: {settings} }})")
    assert absent("Cumulative probability") == ["in the draw", "top-k", "top-p", "min-p", "u"]
    assert "removed" in absent("Rank curve")
    assert figure(charts, "Cumulative probability").locator(".dv-legend").bounding_box() == width


def test_reused_steps_do_not_count_as_speed_and_more_memory_is_explained(charts: Page):
    charts.evaluate("""redraw({ steps: state.steps.map((step, place) =>
      (place > 3 ? { ...step, reused: true, forward_ms: 0, total_ms: 0.5 } : step)) })""")
    charts.evaluate("part.update({ ...state, index: 5 }, view, 'step')")
    latency = figure(charts, "Latency per step").locator(".dv-chart-text")
    expect(latency).to_contain_text("166.7 tokens/s over the last 3 forward passes.")
    expect(figure(charts, "KV cache").locator(".dv-chart-text")).to_contain_text(
        "held 48.0 KiB, more than logical: shared with another branch or kept from before a rewind."
    )


def test_bars_are_as_high_as_the_view_says(charts: Page):
    rows = charts.evaluate("view.rows")
    states = {
        "chosen": [row["chosen"] for row in rows],
        "kept": [not row["chosen"] and row["removed_by"] is None for row in rows],
        "removed": [not row["chosen"] and row["removed_by"] is not None for row in rows],
    }
    assert all(any(shown) for shown in states.values())
    for axis, value in (("x", "score"), ("x2", "prob")):
        for name, shown in states.items():
            [bars] = held(charts, name, axis)
            tops = [None if height is None else height + bars["base"] for height in bars["y"]]
            wanted = [
                row[value] if is_shown else None for row, is_shown in zip(rows, shown, strict=True)
            ]
            assert tops == pytest.approx(wanted)


def test_hostile_labels_are_literal_in_labels_and_hover_boxes(charts: Page):
    charts.evaluate("labels => redraw({}, 1, labels)", HOSTILE)
    labels = figure(charts, "Softmax").locator(".dv-chart-labels span")
    for place, label in enumerate(HOSTILE):
        expect(labels.nth(place)).to_have_attribute("title", label)
        assert len(labels.nth(place).text_content()) <= 8
    for place, label in enumerate(HOSTILE):
        box = labels.nth(0).locator("..").bounding_box()
        x = box["x"] + (place + 0.5) / 15 * box["width"]
        charts.mouse.move(x - 2, inside(charts, "Softmax", 0)[1])
        charts.mouse.move(x, inside(charts, "Softmax", 0)[1])
        start = label if len(label) < 40 else label[:39]
        hover = charts.locator(".hoverlayer .hovertext", has_text=f"rank {place + 1}, {start}")
        expect(hover).to_have_count(1)
        assert hover.locator("a, [style*='font-weight: bold']").count() == 0
    assert charts.evaluate("window.hit") is None


def test_redrawing_in_place_gives_what_a_fresh_drawing_gives(charts: Page):
    layer(charts).evaluate("""layer => {
      window.reacts = 0;
      const { react } = Plotly;
      // The costs, which are always drawn by it and in their own time, are in another layer.
      Plotly.react = (...given) => { window.reacts += given[0] === layer; return react(...given); };
    }""")
    moves = [
        ({"temperature": 1.6}, 1),
        ({"top_k": 0}, 1),
        ({"top_p": 1.0}, 1),
        ({"top_k": 10, "top_p": 0.8}, 1),
        ({"temperature": 0.3}, 4),
        ({"temperature": 1.0}, 2),
        # What was drawn for cuts and a draw must go where there are none.
        ({"top_k": 0, "top_p": 1.0, "undrawn": True}, 2),
    ]
    settings = charts.evaluate("state.settings")
    for changes, seed in moves:
        settings |= changes
        charts.evaluate("([settings, seed]) => redraw({ settings }, seed)", [settings, seed])
    reacts = charts.evaluate("reacts")
    drawn = layer(charts).evaluate(SHAPES)
    fresh = layer(charts).evaluate(
        f"""async layer => {{
          const other = layer.cloneNode(false);
          layer.parentNode.append(other);
          await Plotly.newPlot(other, structuredClone(layer.data),
            structuredClone(layer.layout));
          const shapes = ({SHAPES})(other);
          Plotly.purge(other);
          other.remove();
          return shapes;
        }}"""
    )
    assert reacts == 0
    assert len(drawn) > 40
    assert drawn == fresh


def test_zoom_survives_a_step_and_ends_with_reset_or_double_click(charts: Page):
    whole = zoomed_range(charts)
    reset = charts.get_by_role("button", name="Reset zoom of Rank curve")
    expect(reset).to_be_hidden()
    for way_back in ("button", "double click"):
        charts.mouse.move(*inside(charts, "Rank curve", 0.3))
        charts.mouse.down()
        charts.mouse.move(*inside(charts, "Rank curve", 0.6), steps=4)
        charts.mouse.up()
        expect(reset).to_be_visible()
        zoomed = zoomed_range(charts)
        assert zoomed[1] - zoomed[0] < 0.5 * (whole[1] - whole[0])
        charts.evaluate("redraw({}, 3)")
        assert zoomed_range(charts) == zoomed
        if way_back == "button":
            reset.click()
        else:
            charts.mouse.dblclick(*inside(charts, "Rank curve", 0.5))
        expect(reset).to_be_hidden()
        charts.wait_for_function(
            """whole => String(document.querySelector('.dv-chart-layer').layout.xaxis4.range)
              === String(whole)""",
            arg=whole,
        )


def test_enlarging_asks_for_it_and_fills_the_width(charts: Page):
    before = figure(charts, "Rank curve").bounding_box()
    charts.get_by_role("button", name="Enlarge Rank curve", exact=True).click()
    assert charts.evaluate("calls.at(-1)") == ["show", {"enlarged": "rank_curve"}]
    charts.evaluate("redraw({ enlarged: 'rank_curve' })")
    after = figure(charts, "Rank curve").bounding_box()
    assert after["width"] > 2.5 * before["width"]
    assert after["y"] < figure(charts, "Logits").bounding_box()["y"]
    size = layer(charts).evaluate("layer => layer.layout.xaxis4.tickfont.size")
    assert size >= 18
    charts.get_by_role("button", name="Shrink Rank curve", exact=True).click()
    assert charts.evaluate("calls.at(-1)") == ["show", {"enlarged": None}]


@pytest.mark.parametrize("name", ["Logits", "Latency per step"])
def test_a_figure_is_saved_as_png_of_twice_its_size(charts: Page, name: str):
    with charts.expect_download() as download:
        charts.get_by_role("button", name=f"Save {name} as PNG", exact=True).click()
    assert download.value.suggested_filename.endswith("-step-5.png")
    image = Path(download.value.path()).read_bytes()
    assert image[:8] == base64.b64decode("iVBORw0KGgo=")
    assert int.from_bytes(image[16:20], "big") == 1920
    assert len(image) > 20_000


def test_a_clicked_step_is_inspected(charts: Page):
    charts.wait_for_function("part.drawn_costs > 0")
    charts.mouse.move(*inside(charts, "KV cache", 0.5))
    expect(charts.locator(".hoverlayer .hovertext")).to_have_count(1)
    charts.mouse.down()
    charts.mouse.up()
    charts.wait_for_function("calls.length > 0")
    [name, index] = charts.evaluate("calls.at(-1)")
    text = charts.locator(".hoverlayer .hovertext").text_content()
    assert (name, text.startswith(f"step {index + 1}:")) == ("inspect", True)


def test_steps_that_run_by_are_drawn_less_often_and_the_last_one_always(charts: Page):
    charts.evaluate(
        """() => {
          window.drawn_before = part.drawn;
          state.mode = 'playing';
          for (let seed = 0; seed < 40; seed += 1) {
            window.view = made_up.view(seed % 9, state.settings, []);
            part.update(state, view, 'step');
          }
        }"""
    )
    wanted = charts.evaluate("view.rows.map(row => row.raw_prob)")
    charts.wait_for_function(
        """wanted => {
          const outline = document.querySelector('.dv-chart-layer').data
            .find(trace => trace.name.startsWith('before') && trace.xaxis === 'x2');
          return wanted.every((prob, place) => outline.y[4 * place + 1] === prob);
        }""",
        arg=wanted,
    )
    charts.wait_for_function("part.drawn > drawn_before")
    assert charts.evaluate("part.drawn - drawn_before") <= 3


def test_a_failed_load_says_so_and_can_be_retried(charts_page: Page):
    page = charts_page
    page.reload()
    page.wait_for_function("() => Boolean(window.mount)")
    page.evaluate("mount('/missing.js')")
    page.evaluate("part.update(state, made_up.view(1, state.settings, []), 'step')")
    expect(page.get_by_role("alert")).to_contain_text("/missing.js could not be loaded")
    page.evaluate("document.querySelector('.dv').dataset.plotly = '/plotly.min.js'")
    page.get_by_role("button", name="Retry").click()
    page.wait_for_function("part.drawn > 0")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(figure(page, "Logits")).to_be_visible()
    page.evaluate("unmount()")
