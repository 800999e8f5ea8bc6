"""Cards of every stage: one line while off, fields, token lists, what they did, their pictures."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.stages import STAGES
from tests.browser.cards_page import (
    bars,
    button,
    calls,
    card,
    cards_page,
    exact,
    open_cards,
    path,
    slider,
    update,
)
from tests.ui.hostile import HOSTILE

DRY = "{multiplier: 0.8, base: 1.75, allowed_length: 2, last_n: -1, breakers: [9, 40]}"

# Every stage on, with a text that gives each something to do.
ALL = f"""{{settings: {{order: [...t.DEFAULT_ORDER],
  logit_bias: {{bias: [[0, -3], [14, 5]]}}, repetition_penalty: 1.3, presence_penalty: 0.5,
  frequency_penalty: 0.4, dry: {DRY}, no_repeat_ngram: 2,
  banned: {{sequences: [[3], [1, 4]]}}, min_new_tokens: 5, temperature: 0.9,
  dynamic_temperature: {{low: 0.5, high: 1.5, exponent: 1}}, top_h: 0.6, top_k: 60, top_p: 0.95,
  min_p: 0.01, typical_p: 0.9, epsilon_cutoff: 0.0009, eta_cutoff: 0.002, top_n_sigma: 2,
  tail_free: 0.95, xtc: {{threshold: 0.05, probability: 0.5}}, mirostat: {{tau: 3, eta: 0.1}}}},
  steps: [0, 1, 2, 1, 2].map(id => t.step_of(id)), index: 4}}"""


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    with cards_page(browser) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    open_cards(opened)
    return opened


def alone(page: Page, name: str, changes: str = "{}", options: str = "{}") -> None:
    """This stage only, as it is set in `ALL`."""
    page.evaluate(
        f"""name => {{
          const all = {ALL};
          const settings = {{ ...all.settings, order: [name] }};
          for (const stage of t.STAGES) if (stage.name !== name) settings[stage.name] = stage.off;
          t.update({{ ...all, settings: {{ ...settings, ...{changes} }} }}, {options});
        }}""",
        name,
    )


def label(page: Page, name: str) -> str:
    return page.evaluate("name => t.STAGES.find(stage => stage.name === name).label", name)


def height(page: Page, name: str) -> float:
    return card(page, name).bounding_box()["height"]


# --- a card that is off ---------------------------------------------------------------------------


def test_a_card_that_is_off_is_one_line_with_its_slider(page: Page):
    assert height(page, "Min-p") < 40
    assert height(page, "Top-k") > 80
    expect(slider(page, "Min-p")).to_be_visible()
    expect(card(page, "Min-p").locator(".dv-card-body")).to_be_hidden()
    top = slider(page, "Min-p").bounding_box()["y"]
    assert abs(top - exact(page, "Min-p").bounding_box()["y"]) < 12  # beside its field
    page.get_by_role("switch", name="Top-k on", exact=True).click()
    assert height(page, "Top-k") < 40
    expect(card(page, "Top-k")).to_have_class(re.compile("dv-card-faded"))


def test_a_thumb_that_passes_the_off_value_stays_under_the_hand(page: Page):
    """At 1 the temperature is off; the card must not fold up while one is dragging through it."""
    box = slider(page, "Temperature").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.45, middle)
    page.mouse.down()
    seen = set()
    for share in range(45, 56):
        page.mouse.move(box["x"] + box["width"] * share / 100, middle)
        seen.add(page.evaluate("t.state.settings.temperature"))
        assert slider(page, "Temperature").bounding_box() == box
    page.mouse.up()
    assert min(seen) < 1 < max(seen)
    assert height(page, "Temperature") > 80
    # And the other way: a card that is switched on by its slider opens once the hand lets go.
    box = slider(page, "Min-p").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    assert slider(page, "Min-p").bounding_box() == box
    page.mouse.up()
    assert height(page, "Min-p") > 80


def test_keys_through_the_off_value_keep_the_focus(page: Page):
    field = slider(page, "Temperature")
    for _ in range(12):
        field.press("ArrowRight")
    assert page.evaluate("t.state.settings.temperature") == pytest.approx(1.02)
    expect(field).to_be_focused()


def test_details_open_and_close(page: Page):
    ask = button(page, "About Typical-p")
    alone(page, "typical_p")
    expect(ask).to_have_attribute("aria-expanded", "false")
    ask.press("Enter")
    expect(ask).to_have_attribute("aria-expanded", "true")
    details = card(page, "Typical-p")
    expect(details).to_contain_text("whose surprise is closest to the entropy")
    paper = details.get_by_role("link", name="Meister et al. 2022")
    expect(paper).to_have_attribute("href", "https://arxiv.org/abs/2202.00666")
    expect(paper).to_have_attribute("rel", "noopener noreferrer")
    ask.click()
    expect(paper).to_be_hidden()


# --- fields ---------------------------------------------------------------------------------------


def test_every_field_has_a_slider_and_an_exact_field(page: Page):
    update(page, ALL)
    for stage in page.evaluate(
        "t.STAGES.map(({name, label, editor, fields}) => "
        "({name, label, editor, fields: fields.map(f => f.label)}))"
    ):
        if stage["editor"] == "number":
            names = [stage["label"]]
        elif stage["editor"] == "numbers":
            names = [f"{stage['label']} {field.lower()}" for field in stage["fields"]]
        else:
            names = []
        for name in names:
            expect(slider(page, name)).to_be_visible()
            expect(exact(page, name)).to_be_visible()
        expect(page.get_by_role("switch", name=f"{stage['label']} on", exact=True)).to_be_visible()
    assert page.locator(".dv-card").count() == len(STAGES) + 1


def test_one_field_of_several_changes_and_the_others_stay(page: Page):
    alone(page, "xtc")
    calls(page)
    exact(page, "XTC probability").fill("0.25")
    exact(page, "XTC probability").press("Enter")
    changed = {"xtc": {"threshold": 0.05, "probability": 0.25}}
    assert calls(page) == [["set", changed], ["settle"]]
    slider(page, "XTC threshold").press("ArrowRight")
    assert calls(page)[0] == ["set", {"xtc": {"threshold": 0.06, "probability": 0.25}}]
    switch = page.get_by_role("switch", name="XTC on", exact=True)
    switch.click()
    assert calls(page) == [["set", {"xtc": None}], ["settle"]]
    expect(card(page, "XTC").locator(".dv-fields")).to_be_hidden()
    switch.click()
    assert calls(page)[0] == ["set", {"xtc": {"threshold": 0.06, "probability": 0.25}}]


def test_nonsense_in_a_field_of_several(page: Page):
    alone(page, "dry")
    calls(page)
    field = exact(page, "DRY last n tokens")
    expect(field).to_have_value("all")
    field.fill("0")
    field.press("Enter")
    expect(card(page, "DRY").get_by_role("alert").filter(visible=True)).to_have_text(
        "dry.last_n must be -1 or at least 1, got 0; "
        "use -1 for the whole context, or a positive number of tokens."
    )
    assert calls(page) == []
    field.fill("64")
    field.press("Enter")
    assert calls(page)[0][1]["dry"]["last_n"] == 64
    assert page.evaluate("t.state.settings.dry.breakers") == [9, 40]  # no control, but kept
    field.fill("All")
    field.press("Enter")
    assert calls(page)[0][1]["dry"]["last_n"] == -1
    slider(page, "DRY last n tokens").press("ArrowRight")
    assert calls(page)[0][1]["dry"]["last_n"] == 15  # 0 means nothing, so the slider passes over it


def test_the_ends_of_a_pair_give_way(page: Page):
    alone(page, "dynamic_temperature")
    calls(page)
    slider(page, "Dynamic temperature lowest t").fill("1.8")
    ends = calls(page)[0][1]["dynamic_temperature"]
    assert ends == {"low": 1.8, "high": 1.8, "exponent": 1}
    slider(page, "Dynamic temperature highest t").fill("0.3")
    ends = calls(page)[0][1]["dynamic_temperature"]
    assert ends == {"low": 0.3, "high": 0.3, "exponent": 1}


# --- lists of tokens ------------------------------------------------------------------------------


def answer(page: Page, *found: tuple[int, str]) -> None:
    tokens = [{"id": i, "label": text, "raw_rank": i + 1, "logit": 1.0} for i, text in found]
    page.evaluate("tokens => { t.answers.tokenize = tokens; }", tokens)


def type_in(page: Page, name: str, text: str) -> None:
    page.get_by_role("textbox", name=name, exact=True).fill(text)
    page.get_by_role("textbox", name=name, exact=True).press("Enter")


def test_biases_are_added_changed_and_removed(page: Page):
    update(page, "{settings: {order: ['logit_bias', 'temperature'], logit_bias: null}}")
    calls(page)
    answer(page, (40, "␣Berlin"))
    type_in(page, "Add token to Logit bias", " Berlin")
    expect(page.get_by_role("list", name="Biased tokens")).to_contain_text("␣Berlin")
    assert calls(page) == [
        ["tokenize", " Berlin"], ["set", {"logit_bias": {"bias": [[40, 2]]}}], ["settle"]
    ]  # fmt: skip
    answer(page, (7, "␣Lyon"))
    type_in(page, "Add token to Logit bias", " Lyon")
    expect(page.get_by_role("list", name="Biased tokens").get_by_role("listitem")).to_have_count(2)
    # In the order of the ids, as the engine keeps them: else the step would not look as recorded.
    assert calls(page)[1][1] == {"logit_bias": {"bias": [[7, 2], [40, 2]]}}
    field = page.get_by_role("spinbutton", name="Bias of \u2068␣Lyon\u2069", exact=True)
    field.fill("-4.5")
    field.press("Enter")
    assert calls(page)[0] == ["set", {"logit_bias": {"bias": [[7, -4.5], [40, 2]]}}]
    field.fill("2000")
    field.press("Enter")
    alert = card(page, "Logit bias").get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text("logit_bias must be between -1000 and 1000, got 2000")
    assert calls(page) == []
    for name in ("␣Lyon", "␣Berlin"):
        button(page, f"Remove \u2068{name}\u2069").click()
    assert [call for call in calls(page) if call[0] == "set"] == [
        ["set", {"logit_bias": {"bias": [[40, 2]]}}], ["set", {"logit_bias": None}]
    ]  # fmt: skip


def test_a_text_of_several_tokens_offers_them(page: Page):
    update(page, "{settings: {order: ['logit_bias'], logit_bias: null}}")
    answer(page, (50, "Ber"), (51, "lin"))
    calls(page)
    type_in(page, "Add token to Logit bias", "Berlin")
    expect(card(page, "Logit bias")).to_contain_text("is 2 tokens; choose one:")
    assert calls(page) == [["tokenize", "Berlin"]]
    button(page, "lin").click()
    assert calls(page)[0] == ["set", {"logit_bias": {"bias": [[51, 2]]}}]
    expect(button(page, "lin")).to_have_count(0)
    answer(page)
    type_in(page, "Add token to Logit bias", "?")
    expect(card(page, "Logit bias")).to_contain_text("No token came back for this text.")


def test_an_empty_list_cannot_be_switched_on(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}}")
    calls(page)
    page.get_by_role("switch", name="Banned words on", exact=True).click()
    assert calls(page) == []
    expect(page.get_by_role("textbox", name="Add word to Banned words")).to_be_focused()


@pytest.mark.parametrize(
    ("name", "button_text", "empty"),
    [("logit_bias", "Add token", "{bias: []}"), ("banned", "Add word", "{sequences: []}")],
)
def test_an_empty_list_waits_for_its_first_token(
    page: Page, name: str, button_text: str, empty: str
):
    """As it is added, and as a settings value that was remembered: one and the same card."""
    title = label(page, name)
    switch = page.get_by_role("switch", name=f"{title} on", exact=True)
    box = page.get_by_role("textbox", name=f"{button_text} to {title}")
    button(page, "Add stage").click()
    page.get_by_role("menuitem", name=title, exact=True).click()
    added = page.evaluate("t.calls.filter(([name]) => name === 'set').at(-1)[1]")
    assert added[name] is None and name in added["order"]
    looks = []
    for value in ("null", empty):
        update(page, f"{{settings: {{{name}: {value}}}}}")
        assert page.evaluate("t.chain_of(t.state.settings).map(stage => stage.name)") == [
            "temperature",
            "top_k",
            "top_p",
        ]
        expect(switch).to_have_attribute("aria-checked", "false")
        expect(card(page, title)).to_have_class(re.compile("dv-card-faded"))
        expect(box).to_be_visible()
        page.evaluate("document.activeElement.blur()")
        calls(page)
        switch.click()
        assert calls(page) == []
        expect(box).to_be_focused()
        looks.append(card(page, title).evaluate("card => card.outerHTML"))
    assert looks[0] == looks[1]
    update(page, f"{{settings: {{{name}: {empty}}}}}", "{none: true}")
    expect(card(page, title).locator(".dv-effects")).to_have_text(re.compile("^off"))
    page.evaluate("t.answers.tokenize = [{id: 3, label: '␣located'}]")
    update(page, "{}", "{}")
    box.fill(" located")
    box.press("Enter")
    expect(switch).to_have_attribute("aria-checked", "true")


def test_words_are_banned_as_sequences_of_tokens(page: Page):
    update(page, "{settings: {order: ['banned'], banned: null}}")
    calls(page)
    answer(page, (3, "␣located"))
    type_in(page, "Add word to Banned words", " located")
    words = page.get_by_role("list", name="Banned words").get_by_role("listitem")
    expect(words).to_have_count(1)
    answer(page, (60, "␣Ber"), (61, "lin"))
    type_in(page, "Add word to Banned words", " Berlin")
    expect(words).to_have_count(2)
    expect(card(page, "Banned words")).to_contain_text("the last is banned after the others")
    sets = [call[1] for call in calls(page) if call[0] == "set"]
    assert sets[-1] == {"banned": {"sequences": [[3], [60, 61]]}}
    type_in(page, "Add word to Banned words", " Berlin")
    expect(card(page, "Banned words")).to_contain_text("is banned already")
    expect(card(page, "Banned words")).to_contain_text("16,384 → 16,383 tokens")
    button(page, "Remove \u2068␣Berlin\u2069").press("Enter")
    assert calls(page)[-2] == ["set", {"banned": {"sequences": [[3]]}}]
    expect(page.get_by_role("textbox", name="Add word to Banned words")).to_be_focused()


def test_hostile_tokens_are_text(page: Page):
    before = page.locator(".dv script, .dv img, .dv b").count()
    update(page, "{settings: {order: ['logit_bias', 'banned'], logit_bias: null, banned: null}}")
    for place, text in enumerate(HOSTILE):
        answer(page, (100 + place, text))
        type_in(page, "Add token to Logit bias", "x")
        type_in(page, "Add word to Banned words", "x")
    items = page.get_by_role("list", name="Biased tokens").get_by_role("listitem")
    expect(items).to_have_count(len(HOSTILE))
    answer(page, *((200 + place, text) for place, text in enumerate(HOSTILE)))
    type_in(page, "Add token to Logit bias", "<script>alert(1)</script>")
    expect(card(page, "Logit bias")).to_contain_text("choose one:")
    assert page.locator(".dv script, .dv img, .dv b").count() == before
    shown = page.evaluate("document.querySelector('[data-stage=logit_bias]').scrollWidth")
    assert shown <= card(page, "Logit bias").bounding_box()["width"]


# --- what each did --------------------------------------------------------------------------------

EFFECTS = {
    "logit_bias": r"␣Paris.{0,2} 13\.10 → 10\.10",
    "repetition_penalty": r"6 tokens of the text lowered",
    "presence_penalty": r"3 tokens moved",
    "frequency_penalty": r"3 tokens moved",
    "dry": r"␣Paris.{0,2} 13\.10 → 12\.30|tokens? moved",
    "no_repeat_ngram": r"banned .*␣Paris",
    "banned": r"16,384 → 16,382 tokensbanned .*␣located",
    "min_new_tokens": r"16,384 → 16,383 tokensbanned .*␣now",
    "temperature": r"entropy \d\.\d\d → \d\.\d\d bits",
    "dynamic_temperature": r"T = [01]\.\d{3} here",
    "top_h": r"16,384 → \d+ tokens",
    "top_k": r"16,384 → 60 tokens",
    "top_p": r"16,384 → [\d,]+ tokensremoved (4\.99|5\.00) % of the mass",
    "min_p": r"16,384 → \d+ tokens",
    "typical_p": r"16,384 → \d+ tokens · H = 6\.26 bits",
    "epsilon_cutoff": r"16,384 → 79 tokens",
    "eta_cutoff": r"16,384 → \d+ tokens · η = 0\.\d+ %",
    "top_n_sigma": r"16,384 → \d+ tokens · σ = 1\.\d\d",
    "tail_free": r"16,384 → \d+ tokens",
    "xtc": r"16,384 → 16,382 tokensremoved \d+\.\d\d % at the top; own u 0\.000 < 0\.5",
    "mirostat": r"16,384 → \d+ tokens · μ = 6\.00 bits",
}


@pytest.mark.parametrize("name", STAGES)
def test_each_stage_says_what_it_did_and_draws_it(page: Page, name: str):
    alone(page, name)
    own = card(page, label(page, name))
    expect(own.locator(".dv-effects")).to_have_text(re.compile(EFFECTS[name]))
    drawn = own.locator("svg.dv-geo path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    assert sum(bool(d) for d in drawn) >= 2
    assert not re.search("NaN|Infinity|undefined", "".join(drawn))


def test_all_stages_at_once_and_at_every_point(page: Page):
    update(page, ALL)
    for point in range(len(STAGES) + 3):
        update(page, f"{{point: {point}}}")
        drawn = page.locator("svg.dv-geo path").evaluate_all(
            "all => all.map(p => p.getAttribute('d')).join()"
        )
        assert not re.search("NaN|Infinity|undefined", drawn), point
    for few in (
        "[4, 3, 2, 1]",
        "[1, 1, 1, 1]",
        "[5, -Infinity, 2, -Infinity]",
        "[80, 0, -80, -90]",
    ):
        update(page, "{point: null}", f"{{logits: Float64Array.from({few})}}")
        drawn = page.locator("svg.dv-geo path").evaluate_all(
            "all => all.map(p => p.getAttribute('d')).join()"
        )
        assert not re.search("NaN|Infinity|undefined", drawn), few


def test_pictures_of_windows_and_thresholds(page: Page):
    alone(page, "xtc")
    assert bars(page, "xtc", "removed") == 2  # ranks 1 and 2 reach 0.05, and so does rank 3
    assert bars(page, "xtc", "kept") == 14
    alone(page, "xtc", options="{xtc_u: 0.7}")
    assert bars(page, "xtc", "removed") == 0
    expect(card(page, "XTC")).to_contain_text("sits this step out: own u 0.700 ≥ 0.5")
    alone(page, "mirostat", options="{mirostat: {tau: 3, mu: 3.5}}")
    expect(card(page, "Mirostat")).to_contain_text("μ = 3.50 bits")
    alone(page, "typical_p", "{typical_p: 0.2}")
    view = page.evaluate("t.update()")["stages"][0]
    assert view["first_rank"] > 1
    assert bars(page, "typical_p", "removed") >= 2  # on both sides
    assert path(page, "typical_p", "cut").count("V34") == 2
    alone(page, "top_n_sigma", "{top_n_sigma: 2}")
    assert path(page, "top_n_sigma", "line").count("H92") == 3  # a tick at 0, 1 and 2 sigma
    alone(page, "banned")
    assert path(page, "banned", "arrow").count("L") == 2  # two tokens struck out
    alone(page, "dynamic_temperature")
    assert path(page, "dynamic_temperature", "arrow").count("V9") == 1


def test_mirostat_s_bound_comes_back_with_its_tau(page: Page):
    """No answer of the server's comes in between: what the step before left is not lost."""
    options = "{pending: true, mirostat: {tau: 3, mu: 2.2}}"
    alone(page, "mirostat", options=options)
    own = card(page, "Mirostat")
    for tau, mu in ((3, "2.20"), (5, "10.00"), (3, "2.20")):
        update(page, f"{{settings: {{mirostat: {{tau: {tau}, eta: 0.1}}}}}}", options)
        expect(own).to_contain_text(f"μ = {mu} bits")


def test_a_later_temperature_is_in_no_curve_and_still_drawn(page: Page):
    """Behind a cut the shown ranking is not divided yet: the outline is the curve itself."""
    chain = "{settings: {order: ['top_k', 'temperature'], top_k: 50, temperature: 0.5}}"
    update(page, chain)
    behind = path(page, "temperature", "before")
    update(page, "{settings: {order: ['temperature', 'top_k']}}")
    first = path(page, "temperature", "before")
    assert behind == first  # what stood before it is the same distribution in both


def test_a_stage_without_effect_says_why(page: Page):
    update(page, "{settings: {temperature: 0}}")
    own = card(page, "Top-p")
    expect(own).to_contain_text("no effect here")
    expect(own).to_contain_text("temperature 0 has already left a single token")
    expect(own).to_have_class(re.compile("dv-card-faded"))
    expect(page.get_by_role("switch", name="Top-p on", exact=True)).to_have_attribute(
        "aria-checked", "true"
    )
    update(page, "{settings: {order: ['top_k', 'mirostat'], mirostat: {tau: 5, eta: 0.1}}}")
    remark = card(page, "Top-k").locator(".dv-card-remark")
    expect(remark).to_have_text(
        "mirostat sees only the tokens left here, and may not reach its tau"
    )


def test_a_slide_changes_little_and_rebuilds_nothing(page: Page):
    update(page, ALL)
    assert page.evaluate("t.changes_of([0], {})")["changes"] == 0
    assert page.evaluate("t.changes_of([0], {top_p: 0.94})")["rebuilt"] == 0


def test_stages_after_one_that_removed_every_token(page: Page):
    banned = "{sequences: [[0], [1], [2], [3]]}"
    settings = f"{{order: ['banned', 'frequency_penalty', 'top_h', 'xtc'], banned: {banned}, "
    settings += "frequency_penalty: 1, top_h: 0.5, xtc: {threshold: 0.1, probability: 1}}"
    update(page, f"{{settings: {settings}}}", "{logits: Float64Array.from([4, 3, 2, 1])}")
    expect(card(page, "Banned words")).to_contain_text("4 → 0 tokens")
    for name in ("Frequency penalty", "Top-H", "XTC"):
        expect(card(page, name)).to_contain_text("an earlier stage removed every token")
