"""Stage view of a constrained text: the tokens of its last step, with the engine's figures."""

import html
import math
import re

import numpy as np
import pytest

from engine.study.constraint import ribbon
from tests.ui.labs.settling import settled
from ui.labs.constrained.lab import ConstrainedLab, written
from ui.labs.constrained.view import STAGED, label, staged
from ui.words.metrics import percent

ROW = re.compile(
    r'<tr class="(\w*)"><th scope="row"><code>(.*?)</code></th>'
    r'<td><i style="--share: ([\d.]+)"></i><span>(.*?)</span></td><td>(.*?)</td></tr>'
)


@pytest.fixture(scope="module")
def lab(bundled) -> ConstrainedLab:
    return settled(ConstrainedLab(bundled))


@pytest.mark.parametrize("length", [3, 12])
def test_token_shows_its_share_or_is_refused(lab, length):
    lab.player.rewind(length)
    last, text = lab.figures[-1], lab.text
    found, step = text.distribution(last.index), text.steps[last.index]
    rows = ROW.findall(staged("<b>", text, lab.ribbon, last))
    names = {label(text.model.vocabulary, i): i for i in range(text.model.vocabulary.size)}
    seen = {names[html.unescape(name)]: rest for _, name, *rest in rows}
    kinds = {names[html.unescape(name)]: kind for kind, name, *_ in rows}
    refused = [wanted.token_id for wanted in last.wanted[:STAGED]]
    leading = np.argsort(-found.probs, kind="stable")[:STAGED]
    allowed = {*(int(i) for i in leading if found.probs[i] > 0), step.token_id}
    assert set(seen) == allowed | set(refused)
    for token_id, (_, own, after) in seen.items():
        assert own == percent(math.exp(found.raw.logprob(token_id)))
        assert after == (percent(found.probs[token_id]) if token_id in allowed else "refused")
        chosen = token_id == step.token_id
        usual = "" if token_id in allowed else "removed"
        assert kinds[token_id] == ("chosen" if chosen else usual)
    shares = [float(share) for _, _, share, *_ in rows]
    assert shares == sorted(shares, reverse=True)


def test_forced_bytes_are_computed_once_per_text(lab, monkeypatch):
    texts = []
    monkeypatch.setattr(
        "ui.labs.constrained.lab.ribbon", lambda of, data: texts.append(data) or ribbon(of, data)
    )
    for length in (2, 2, 1):
        lab.player.rewind(length)
        for _ in range(3):
            assert lab.ribbon == ribbon(lab.constraint, written(lab.text))
    assert len(texts) == len(set(texts)) == 2


def test_only_the_prompt_is_shown_before_any_step(lab):
    lab.player.rewind()
    page = staged("<b>", lab.text, lab.ribbon, None)
    assert "&lt;b&gt;" in page and "<table" not in page
