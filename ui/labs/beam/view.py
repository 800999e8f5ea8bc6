"""The search in words and tables; all texts from outside are escaped here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from engine.decoding import BeamSearch, NextToken, NextTokens
from engine.study import BEAM, GREEDY, SAMPLE, Miss, SearchError, SetText
from engine.trace import FINISHED, PRUNED, BeamStep
from ui.labs.beam.inputs import BeamInputs
from ui.labs.beam.tree import Place, Tree, ids_of, text_of
from ui.labs.beam.words import text_name, word
from ui.shell.stage import staged_text
from ui.shell.tables import escaped, table, text_list
from ui.words.labels import counted, visible
from ui.words.language import marked, say, say_counted
from ui.words.metrics import number, percent

STAGED = 6  # hypotheses in stage view
LONGEST = 60  # characters of a text in a sentence
NOT_CONSIDERED = marked("not considered")
RULED_OUT = marked("ruled out")  # by the constraint


def notice(search: BeamSearch) -> str:
    """Say what to notice in the tree: how greedy decoding and the beams fare."""
    steps = search.steps
    last = steps[-1]
    way = _greedy_way(steps)
    greedy = ids_of(steps, way[-1])
    text = quoted(text_of(steps, way[-1]))
    if way[-1][0] < last.index and steps[way[-1][0]].candidates[way[-1][1]].fate != FINISHED:
        said = say(
            "Greedy decoding chose {text}; in step {step} no beam continues from it.",
            text=text,
            step=way[-1][0] + 2,
        )
    elif steps[way[-1][0]].candidates[way[-1][1]].fate == PRUNED and last.stop_reason is None:
        said = say(
            "Step {step} pruned {text}, which greedy decoding would have written.",
            step=way[-1][0] + 1,
            text=text,
        )
    elif greedy == last.ids_after:
        said = say("So far the best hypothesis is the text of greedy decoding.")
    else:
        at = next(
            (
                place
                for place, pair in enumerate(zip(greedy, last.ids_after, strict=False))
                if pair[0] != pair[1]
            ),
            min(len(greedy), len(last.ids_after)),
        )
        said = say(
            "The best hypothesis leaves greedy decoding at token {place}; greedy’s {text} is "
            "no longer the best.",
            place=at + 1,
            text=text,
        )
    parents = len({one.parent for one in last.kept})
    if last.index and last.kept and parents < len(last.kept):
        said += " " + say_counted(
            parents,
            "All {beams} beams come from {count} beam of the step before.",
            "All {beams} beams come from {count} beams of the step before.",
            beams=len(last.kept),
        )
    if last.pool:
        said += " " + say(
            "{texts} finished; the best scores {score}.",
            texts=counted(len(last.pool), "text"),
            score=number(last.pool[0].score, 2),
        )
    return said


def _greedy_way(steps: Sequence[BeamStep]) -> list[Place]:
    """Return the path of greedy decoding, as far as the search followed it."""
    way: list[Place] = []
    beam = 0
    for step in steps:
        own = [at for at, one in enumerate(step.candidates) if one.parent == beam]
        if not own:
            break
        at = max(own, key=lambda at: step.candidates[at].logprob)
        way.append((step.index, at))
        beam = step.candidates[at].beam
        if beam is None:
            break
    return way


def plain(text: str) -> str:
    """Format a text on one line, with glyphs for invisible characters except spaces."""
    return " ".join(visible(word) for word in text.split(" ")).strip() or "⟨empty⟩"


def quoted(text: str) -> str:
    """Quote a text within a sentence, shortened if it is long."""
    shown = plain(text)
    shown = shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
    return say("“{text}”", text=shown)


def place_name(steps: Sequence[BeamStep], place: Place, label: Callable[[int], str]) -> str:
    """Return the name of a node of the tree in a list."""
    step, at = place
    one = steps[step].candidates[at]
    groups = max(other.group for other in steps[step].candidates)
    values = {
        "step": step + 1,
        "rank": one.rank,
        "token": label(one.token_id),
        "fate": word(one.fate),
    }
    if not groups:
        return say("step {step}, rank {rank}: {token} ({fate})", **values)
    return say(
        "step {step}, group {group}, rank {rank}: {token} ({fate})", group=one.group + 1, **values
    )


def hypothesis(prompt: str, steps: Sequence[BeamStep], place: Place) -> str:
    """Format the prompt and the text of a hypothesis."""
    return (
        '<p class="dv-written beam-hypothesis" tabindex="0">'
        f"<span>{escaped(prompt)}</span>{escaped(text_of(steps, place))}</p>"
    )


def no_more(steps: Sequence[BeamStep], place: Place) -> str:
    """Say why no token follows a hypothesis."""
    step, at = place
    one = steps[step].candidates[at]
    if one.fate == FINISHED:
        return say(
            "This text is complete; its score is {score}. Nothing follows it.",
            score=number(one.score, 3),
        )
    if steps[step].stop_reason is not None:
        return say("The search ended in this step, so nothing follows this beam.")
    return say(
        "It had rank {rank} in its step and was pruned, so nothing follows it.", rank=one.rank
    )


def following_table(
    steps: Sequence[BeamStep], place: Place, found: NextTokens, label: Callable[[int], str]
) -> str:
    """Return a table of the tokens that may follow a beam, with the fate of each."""
    step, at = place
    beam = steps[step].candidates[at].beam
    fates: dict[int, str] = {}
    if step + 1 < len(steps):
        fates = {one.token_id: one.fate for one in steps[step + 1].candidates if one.parent == beam}
    is_next = step + 1 == len(steps)
    rows = [
        (
            label(token.token_id),
            percent(math.exp(token.logprob)),
            number(token.logprob, 3),
            number(token.total, 3),
            _became(token, fates, is_next),
        )
        for token in found.tokens
    ]
    rows.append(
        (say("{count} other tokens", count=f"{found.rest:,}"), percent(found.rest_mass), "", "", "")
    )
    head = (say("token"), say("probability"), say("step score"), say("sum"), say("became"))
    return table(say("What may follow"), head, rows, "figures")


def _became(token: NextToken, fates: Mapping[int, str], is_next: bool) -> str:
    if not token.is_left:
        return say(RULED_OUT)
    if is_next:
        return say("next step")
    fate = fates.get(token.token_id)
    return say(NOT_CONSIDERED) if fate is None else word(fate)


def hidden(tree: Tree) -> str:
    """Say how many pruned hypotheses the tree hides; empty if it shows all."""
    if not tree.hidden:
        return ""
    return say_counted(
        tree.hidden,
        "{count} pruned hypothesis is not shown.",
        "{count} pruned hypotheses are not shown.",
    )


def ranking_table(search: BeamSearch) -> str:
    """Return a table of all current hypotheses of the search, best first."""
    rows = [
        (
            f"{place}",
            word(FINISHED if one.is_finished else BEAM),
            number(one.score, 3),
            number(one.logprob, 3),
            f"{len(one.token_ids)}",
            plain(one.text),
        )
        for place, one in enumerate(search.hypotheses, 1)
    ]
    head = (
        say("rank"),
        say("is"),
        say("score"),
        say("log-probability"),
        say("tokens"),
        say("text"),
    )
    return table(say("Ranking of this search"), head, rows)


def staged(prompt: str, search: BeamSearch) -> str:
    """Format the leading hypotheses for stage view; the prefix shared with the best is muted."""
    if not search.steps:
        return staged_text(prompt, "")
    best = search.hypotheses[0].text
    rows = []
    for place, one in enumerate(search.hypotheses[:STAGED]):
        same = _common(best, one.text) if place else ""
        mark = f"<b>{word(FINISHED)}</b>" if one.is_finished else ""
        rows.append(
            f'<li><b>{number(one.score, 2)}</b><p class="dv-written"><span>{escaped(same)}</span>'
            f"{escaped(one.text[len(same) :])} {mark}</p></li>"
        )
    name = say("Leading hypotheses with their scores")
    return (
        f"{staged_text(prompt, '')}<h2>{name}</h2>"
        f'<ol class="dv-staged-list" aria-label="{name}">{"".join(rows)}</ol>'
    )


def _common(one: str, other: str) -> str:
    """Return the words that both texts begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    end = next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))
    return one[: one.rfind(" ", 0, end) + 1]


def texts_list(prompt: str, texts: Sequence[SetText]) -> str:
    """Format the texts of all decoders, likeliest first."""
    ranked = sorted(texts, key=lambda one: -one.logprob)
    about = [
        (
            text_name(one),
            say("{nats} nats", nats=number(one.logprob, 2)),
            say("{nats} per token", nats=number(one.per_token, 2)),
            say("distinct-1 {value}", value=number(one.distinct_1, 2)),
            say("distinct-2 {value}", value=number(one.distinct_2, 2)),
            counted(len(one.token_ids), "token"),
        )
        for one in ranked
    ]
    pairs = zip(about, (one.text for one in ranked), strict=True)
    return text_list(say("Texts, likeliest first"), prompt, pairs)


def texts_notice(texts: Sequence[SetText]) -> str:
    """Compare the best beam's text with greedy's and the samples; empty if any is missing."""
    beams = [one for one in texts if one.kind == BEAM and one.token_ids]
    greedy = [one for one in texts if one.kind == GREEDY and one.token_ids]
    samples = [one for one in texts if one.kind == SAMPLE and one.token_ids]
    if not (beams and greedy and samples):
        return ""
    best = beams[0]
    gain = best.logprob - greedy[0].logprob
    if best.token_ids == greedy[0].token_ids:
        said = say("The best beam wrote the text of greedy decoding.")
    else:
        more, less = (
            marked("The best beam’s text scores {nats} nats more than greedy’s."),
            marked("The best beam’s text scores {nats} nats less than greedy’s."),
        )
        said = say(more if gain >= 0 else less, nats=number(abs(gain), 2))
    mean = statistics.fmean(one.per_token for one in samples)
    varied = statistics.fmean(one.distinct_1 for one in samples)
    likelier = (
        marked("It is likelier than the samples ({own} against {others} nats per token),")
        if best.per_token > mean
        else marked(
            "It is not more likely than the samples ({own} against {others} nats per token),"
        )
    )
    blander = (
        marked("and blander: distinct-1 {own} against {others}.")
        if best.distinct_1 < varied
        else marked("and no blander: distinct-1 {own} against {others}.")
    )
    likelier = say(likelier, own=number(best.per_token, 2), others=number(mean, 2))
    blander = say(blander, own=number(best.distinct_1, 2), others=number(varied, 2))
    return f"{said} {likelier} {blander}"


def verdict(found: SearchError, inputs: BeamInputs) -> str:
    """Say what the exact search found, and whether the page's beam width finds it too."""
    own = next(miss for miss in found.misses if miss.width == inputs.width)
    tokens = counted(inputs.exact_tokens, "token")
    if not found.best.is_proven:
        read, left = counted(found.best.visited, "beginning"), counted(found.best.open, "beginning")
        why = {
            "nodes": say("{beginnings} read", beginnings=read),
            "memory": say("{beginnings} waiting", beginnings=left),
            "cancelled": say("cancelled, {beginnings} read", beginnings=read),
        }[found.best.stopped]
        return say(
            "Out of reach ({why}): no text of at most {tokens} is proven best. The best text "
            "scores between {low} and {high}.",
            why=why,
            tokens=tokens,
            low=number(found.best.score, 3),
            high=number(found.best.bound, 3),
        )
    shown = quoted(found.best.text)
    if len(found.best.token_ids) < inputs.exact_tokens:
        shown = say("{text}, which ends there", text=shown)
    said = [
        say(
            "Proven: no text of at most {tokens} is likelier than {text}.",
            tokens=tokens,
            text=shown,
        ),
        _missed(own, found),
    ]
    if inputs.language:
        said.append(say("All of these texts keep to the constraint."))
    return " ".join(said)


def _missed(miss: Miss, found: SearchError) -> str:
    if miss.token_ids == found.best.token_ids:
        return say("Beam {width} found it.", width=miss.width)
    if miss.found:
        return say("Beam {width} found one that is as likely.", width=miss.width)
    return say(
        "Beam {width} misses it by {nats} nats.", width=miss.width, nats=number(miss.nats, 2)
    )


def _outcome(miss: Miss, found: SearchError) -> str:
    if miss.token_ids == found.best.token_ids:
        return say("found")
    if miss.found:
        return say("as likely")
    return say("{nats} nats", nats=number(miss.nats, 2))


def proof(found: SearchError, dtype: str) -> str:
    """Return the figures of the proof; their accuracy depends on the dtype."""
    best = found.best
    said = [
        say(
            "{read} beginnings read in {passes}, {pruned} pruned unread, {left} left, in {time} s.",
            read=f"{best.visited:,}",
            passes=counted(best.passes, "pass"),
            pruned=f"{best.pruned:,}",
            left=f"{best.open:,}",
            time=number(best.seconds, 1),
        ),
        say("The best text scores {score}.", score=number(best.score, 3)),
    ]
    if best.largest_pruned is not None:
        said.append(
            say(
                "What was pruned could reach {score} at most.",
                score=number(best.largest_pruned, 3),
            )
        )
    if dtype != "float32":
        said.append(
            say(
                "Passes in {dtype} round, so figures are accurate to a few hundredths of a nat.",
                dtype=dtype,
            )
        )
    return " ".join(said)


def misses_table(found: SearchError) -> str:
    """Return a table of the best text and the result of every beam width."""
    name = say("exact") if found.best.is_proven else say("best known")
    rows = [(name, number(found.score, 3), "", plain(found.best.text))]
    rows += [
        (
            say("beam {number}", number=miss.width),
            number(miss.score, 3),
            _outcome(miss, found),
            plain(miss.text),
        )
        for miss in found.misses
    ]
    return table(
        say("Exact search and beams"),
        (say("search"), say("score"), say("misses by"), say("text")),
        rows,
    )
