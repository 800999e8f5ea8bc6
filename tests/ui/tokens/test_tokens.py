"""The tokens page without Streamlit: tables, message, notice, chart, and the visit's record."""

import json

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.errors import DecodingError, ModelError
from engine.model import LanguageModel
from engine.tokenizing import text_tokenizer
from tests.engine.kinds_of_tokenizer import whole, wordpiece
from tests.ui.hostile import HOSTILE
from ui.jobs import UNKNOWN
from ui.tokens import sources
from ui.tokens.charts import sample_figure
from ui.tokens.measures import MEASURES
from ui.tokens.message import MOST_DRAWN, MOST_SYMBOLS, packed
from ui.tokens.notice import notice
from ui.tokens.samples import experiments, samples
from ui.tokens.sources import BYTES, CODE_POINTS, NOTHING
from ui.tokens.state import LONGEST, Shown, TokensState
from ui.tokens.tables import figures, price_table, stage_rows, token_frame, word_rows


@pytest.fixture
def state(bundled: LanguageModel) -> TokensState:
    return TokensState(bundled)


def sides(state: TokensState) -> list[dict]:
    return json.loads(packed(state.shown()))


def test_merges_lead_from_symbols_to_tokens(state):
    state.change(prompt=" strawberry STRAWBERRY<|endoftext|> 🙂" + " STRAWBERRY")
    first, second = sides(state)
    assert [side["name"] for side in (first, second)] == ["bundled", "ByT5 (bytes)"]
    for number, (_, making) in enumerate(first["pre_tokens"]):
        labels = dict(enumerate(first["makings"][making]["symbols"]))
        for start, middle, _, _, label, _ in first["makings"][making]["merges"]:
            labels[start] = label
            del labels[middle]
        tokens = [one["label"] for one in first["tokens"] if one["pre_token"] == number]
        assert list(labels.values()) == tokens
    assert len(first["makings"]) == 3, "the word that comes twice is packed once"
    assert first["tokens"][first["first"]]["label"] == "␣S", "that word is cut most"
    (end,) = [one for one in first["tokens"] if one["is_special"]]
    assert end["label"] == "<|endoftext|>" and end["pre_token"] is None
    assert second["makings"] == [] and "Every byte is a token" in second["note"]
    assert second["tokens"][-1]["is_inserted"] and second["tokens"][-1]["label"] == "</s>"


def test_long_normalised_text_shows_only_first_steps():
    tokenizer = wordpiece()
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("@", "x" * 140)
    grown = text_tokenizer(whole(tokenizer))
    cut = grown.tokenize(" ".join(f"@{place}" for place in range(200)))
    (side,) = json.loads(packed([Shown("", "", grown, cut)]))
    first, *_, last = side["makings"]
    assert first["kind"] == "matches" and "first 20,000" in last["reason"]


def test_slow_steps_are_omitted_but_tokens_shown(state, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.model.guarded_tokenizer.CUT_SECONDS", 0.1)
    pieces = [("<unk>", 0.0), *(("a" * length, -1.0 * length) for length in range(1, 151))]
    backend = Tokenizer(models.Unigram(pieces, 0))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(tmp_path)
    state.change(prompt=" ".join("a" * length for length in range(115, 150)), first=str(tmp_path))
    first, _ = sides(state)
    assert {one["kind"] for one in first["makings"]} == {"none"} and len(first["tokens"]) >= 35
    assert "seconds of processor time" in first["makings"][0]["reason"]
    state.change(prompt="aa")
    assert sides(state)[0]["makings"][0]["kind"] == "cuts"


def test_long_texts_are_shortened_or_refused(state):
    state.change(prompt="ab" * (LONGEST // 2))
    first, second = sides(state)
    assert len(second["tokens"]) == MOST_DRAWN < LONGEST and "CSV" in second["note"]
    assert f"at most {MOST_SYMBOLS}" in first["makings"][0]["reason"]
    assert len(token_frame(state.shown()[1])) == LONGEST + 1
    state.change(prompt="a" * (LONGEST + 1))
    with pytest.raises(DecodingError, match=r"5,001 characters.*at most 5,000"):
        state.shown()
    state.begin(UNKNOWN)
    assert "at most 5,000" in state.error and state.work is None


def test_tables_count_words_stages_samples_and_prices(state):
    state.change(prompt="a zugzwang a", second=CODE_POINTS)
    shown = state.shown()
    word, whole, points = word_rows(shown)[0]
    assert word == "zugzwang" and int(whole) > 1 and points == "8", "without the space"
    assert [row[0] for row in word_rows(shown)] == ["zugzwang", "a"], "each once"
    names = [row[0] for row in stage_rows(shown[0].cut)]
    assert names[0] == "text" and "pre-tokens" in names and len(stage_rows(shown[1].cut)) == 2
    for measure in MEASURES:
        rows = dict(figures(shown, state.cut, measure, state.inputs.prompt))
        assert list(rows) == ["Your text", *(sample.name for sample in samples())]
        assert all(value is None or value > 0 for values in rows.values() for value in values)
        assert rows["English"][0] and (rows["Chinese"][0] is None) == (measure == "words")
    figure = sample_figure("tokens", ["one", "two"], list(rows.items()), dark=True)
    assert len(figure.data) == 2 and len(figure.data[0].x) == len(rows)
    tokens = len(shown[0].cut.tokens)
    prices = price_table(shown, 2.0, 10.0).rows[0][2:]
    assert prices == (f"$ {2 * tokens}.00", f"$ {10 * tokens}.00")


def test_notice_counts_tokens_and_hostile_texts_stay_text(state):
    assert "“\u2068␣STRAWBERRY\u2069” is cut most, into 6" in notice(state.shown())
    assert "3.2 times as many" in notice(state.shown())
    state.change(prompt="the cat")
    assert "a single id for each" in notice(state.shown())
    for text in [*HOSTILE, *(one.text for one in experiments())]:
        state.change(prompt=text)
        assert notice(state.shown()) and sides(state)
        assert "\u202e" not in packed(state.shown()), "what turns a line around is a glyph"


def test_unavailable_tokenizer_leaves_the_previous_one(state, tmp_path, monkeypatch):
    state.change(second=str(tmp_path / "nowhere"))
    assert "no folder" in state.error and state.inputs.second == BYTES
    state.change(second="bundled-draft")
    assert state.error == "" and state.shown()[1].name == "Bundled draft"
    assert state.shown()[0].cut.tokens == state.shown()[1].cut.tokens
    named = sources.names(state.model, "bundled-draft")
    assert named["model"] == "bundled (this model's)" and named["bundled-draft"] == "Bundled draft"
    assert BYTES in named and NOTHING not in named
    state.change(second=NOTHING)
    assert [one.key for one in state.shown()] == ["model"]

    def refused(choice):
        raise ModelError("It is not among the models that may be loaded here.")

    monkeypatch.setattr(sources, "check_allowed", refused)
    state.change(first=str(tmp_path))
    assert "not among the models" in state.error


def test_a_visit_keeps_text_tokenizers_and_prices(state):
    state.change(prompt="\u202e🙂", second=CODE_POINTS, measure="words", output_price=7.5)
    data = json.loads(json.dumps(state.record()))
    again = TokensState.restored(data, lambda source, revision: state.model)
    assert again.inputs == state.inputs
    data["inputs"]["measure"] = "no such"
    with pytest.raises(DecodingError, match="measure must be one of"):
        TokensState.restored(data, lambda source, revision: state.model)
