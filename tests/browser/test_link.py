"""Events out: in order, one at a time, sent again until they are answered. Messages in."""

import json

import pytest
from playwright.sync_api import Page, expect

from engine.model import LanguageModel, load_model
from engine.sampling import LogitBias, SamplingSettings
from tests.browser.modules import modules_page
from tests.ui import hostile
from tests.ui.test_session import Visitor
from ui.shared.settings import CARDS
from ui.shared.token_labels import labels_of
from ui.step.events import Have
from ui.step.message import LABELLED, message
from ui.step.session import Session

LINK = """
const { create_link } = await import('/js/wire/link.js');
const sent = [];
let length = 0;
const link = create_link(() => ({ at: { length } }), event => sent.push(event));
const answer = (number, client = link.client) => link.received({ client, acknowledged: number });
"""


@pytest.fixture
def run(browser):
    """Runs JavaScript with a link at hand and gives what it returns."""
    with modules_page(browser) as page:
        yield lambda script: page.evaluate(f"(async () => {{ {LINK} {script} }})()")


def test_one_event_is_under_way_and_the_next_waits_for_its_answer(run):
    assert run(
        """
        link.post('step'); link.post('step');
        const before = sent.length;
        length = 1;
        answer(1);
        return [before, sent.map(event => [event.number, event.kind, event.at.length])];
        """
    ) == [1, [[1, "step", 0], [2, "step", 1]]]


def test_an_answer_resolves_its_event_and_an_old_answer_does_not(run):
    assert run(
        """
        let done = 0;
        link.post('step').then(() => { done += 1; });
        answer(0); await null;
        const early = done;
        answer(1, 'another client'); await null;
        const foreign = done;
        answer(1); await null; await null;
        return [early, foreign, done, link.is_busy];
        """
    ) == [0, 0, 1, False]


def test_a_click_need_not_wait_for_settings_or_labels(run):
    assert run(
        """
        const busy = [];
        const note = () => busy.push(link.is_busy);
        link.post('settings'); note();
        link.post('labels'); note();
        link.post('force'); note(); // waits behind them: a second click is one too many
        answer(1); answer(2); note();
        answer(3); note();
        return busy;
        """
    ) == [False, False, True, True, False]


def test_an_unanswered_event_is_sent_again_unchanged(run):
    assert run(
        """
        link.post('force', { token_id: 7 });
        length = 5;
        link.again();
        return [sent.length, sent[0] === sent[1], sent[1].number, sent[1].at.length];
        """
    ) == [2, True, 1, 0]


def test_of_settings_only_the_newest_waits_and_clicks_are_bounded(run):
    assert run(
        """
        link.post('step');
        const dropped = link.post('settings');
        link.post('settings');
        const first = await dropped;
        for (let click = 0; click < 12; click++) link.post('step');
        return [first, link.waits];
        """
    ) == [None, 9]  # eight clicks and the settings


def test_pause_drops_what_waits_but_not_what_is_under_way(run):
    assert run(
        """
        link.post('step'); link.post('step'); link.post('settings');
        link.drop(['step', 'run']);
        answer(1);
        return sent.map(event => event.kind);
        """
    ) == ["step", "settings"]


def test_of_questions_only_the_newest_waits_but_every_text_to_split_is_answered(run):
    assert run(
        """
        link.post('step');
        const dropped = [link.post('snippets'), link.post('find', { query: 'a' })];
        link.post('snippets'); link.post('find', { query: 'b' });
        link.post('tokenize', { query: 'a' }); link.post('tokenize', { query: 'b' });
        const answers = await Promise.all(dropped);
        for (const number of [1, 2, 3, 4, 5]) { answer(number); await null; }
        return [answers, sent.slice(1).map(event => [event.kind, event.query ?? ''])];
        """
    ) == [
        [None, None],
        [["snippets", ""], ["find", "b"], ["tokenize", "a"], ["tokenize", "b"]],
    ]


@pytest.fixture(scope="module")
def wire(browser):
    with modules_page(browser, "wire/message.js", "apps/step/state.js") as page:
        yield page


def taken_in(wire: Page, session: Session, expression: str):
    """Something of a state that has taken in what the server would send now."""
    return wire.evaluate(
        """([bytes, expression]) => {
          const state = modules.new_state();
          const message = modules.read_message(new Uint8Array(bytes));
          if (!modules.take_in(state, message)) throw new Error('refused');
          return new Function('state', 'message', `return ${expression}`)(state, message);
        }""",
        [list(message(session)), expression],
    )


def test_the_chain_and_what_it_needs_reach_the_state(wire):
    model = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
    session = Session(model, "w1|w2", SamplingSettings())
    visitor = Visitor(session)
    order = ("xtc", "logit_bias", "top_p", "dry")
    visitor.settings = SamplingSettings(chain=[LogitBias({7: 2.0})], seed=6)
    visitor.do("step", order=order)
    visitor.do("sync", have=Have())
    assert taken_in(wire, session, "state.first_settings") == {
        "order": list(order),
        "xtc": None,
        "logit_bias": {"bias": [[7, 2.0]]},
        "top_p": 1,
        "dry": None,
        "seed": 6,
    }
    assert taken_in(wire, session, "state.model.eos_ids") == list(model.eos_ids)
    assert taken_in(wire, session, "state.stage_defaults.dry.base") == 1.75
    assert taken_in(wire, session, "state.row.recorded_settings.order") == ["logit_bias"]
    assert 0 <= taken_in(wire, session, "state.row.xtc_u") < 1
    assert taken_in(wire, session, "state.row.mirostat") is None
    assert taken_in(wire, session, "state.steps[0].mirostat_mu") is None


def test_a_token_that_a_bias_moves_has_its_label_wherever_it_ranks(wire):
    bundled = load_model()
    prompt = "The capital of France is"
    last = int(Session(bundled, prompt, SamplingSettings()).logits().argmin())
    session = Session(bundled, prompt, SamplingSettings(logit_bias={last: 1.0}))
    labels = taken_in(
        wire,
        session,
        f"[0, {last}].map((id, i) => state.row.labels.get(i ? id : state.row.ids[0]))",
    )
    assert labels == ["␣Paris", labels_of(bundled.vocabulary)[last]]
    assert taken_in(wire, session, "state.row.labels.size") == LABELLED + 1


# --- with the app ---------------------------------------------------------------------------------


@pytest.fixture
def opened(page: Page) -> Page:
    page.goto("/")
    expect(page.get_by_role("table", name="Candidates", exact=True)).to_be_visible()
    page.wait_for_function("document.querySelector('.dv').decoding.view !== null")
    return page


def do(page: Page, script: str):
    return page.evaluate(
        f"(async () => {{ const {{state, actions}} = document.querySelector('.dv').decoding;"
        f" {script} }})()"
    )


def test_the_cards_come_back_after_a_reload_in_their_order(opened):
    order = ["top_p", "dry", "xtc", "temperature", "top_k"]
    sent = {"order": order, "top_p": 0.9, "dry": None, "temperature": 0.8, "top_k": 0, "seed": 7}
    sent |= {"xtc": {"threshold": 0.2, "probability": 0.4}}
    do(opened, f"actions.set({json.dumps(sent)}); await actions.step();")
    expect(opened.locator(".dv")).to_have_attribute("data-length", "1")
    opened.reload()
    expect(opened.locator(".dv")).to_have_attribute("data-length", "1")
    assert sent.items() <= do(opened, "return state.settings").items()
    assert do(opened, "return state.row.recorded_settings.order") == ["top_p", "xtc", "temperature"]
    assert do(opened, "return state.error") == ""


def test_an_example_brings_its_own_cards(opened):
    do(
        opened,
        """actions.set({ order: [...state.settings.order, 'xtc'], xtc: state.stage_defaults.xtc });
        const example = state.examples.find(each => each.name === 'Certain, then torn');
        await actions.start(example.prompt, false, example.settings);""",
    )
    assert do(opened, "return state.error") == ""
    assert do(opened, "return state.settings.order") == list(CARDS)
    do(opened, "await actions.step();")
    expect(opened.locator(".dv")).to_have_attribute("data-length", "1")
    assert do(opened, "return state.row.recorded_settings.order") == ["top_p"]


def test_a_text_is_split_and_the_settings_are_taken_away(opened):
    found = do(opened, "return await actions.tokenize(' Paris strawberries')")
    assert found[0]["label"] == "␣Paris"
    assert all(token["raw_rank"] >= 1 for token in found)
    assert do(opened, "return (await actions.tokenize('')).length") == 0
    targets = do(
        opened,
        """actions.set({ order: ['top_p', 'temperature'], top_p: 0.8, temperature: 0.6 });
        return (await actions.snippets()).map(({ target, code }) => [target, code]);""",
    )
    assert "top_p=0.8" in dict(targets)["transformers"]
    assert len(targets) > 4
