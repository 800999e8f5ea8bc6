"""Events out: in order, one at a time, sent again until they are answered."""

import pytest

from tests.browser.modules import modules_page

LINK = """
const { create_link } = await import('/js/link.js');
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
