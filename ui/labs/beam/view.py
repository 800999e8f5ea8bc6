"""The search in words and tables; every text that is not ours is escaped here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from engine.decoding.beam import BeamSearch, NextToken, NextTokens
from engine.study.search_error import Miss, SearchError
from engine.study.set_texts import BEAM, GREEDY, SAMPLE, SetText
from engine.trace.beam import FINISHED, PRUNED, BeamStep
from ui.labs.beam.inputs import BeamInputs
from ui.labs.beam.tree import Place, Tree, ids_of, text_of
from ui.skeleton.tables import escaped, table, text_list
from ui.words.labels import counted, visible
from ui.words.metrics import number, percent

LONGEST = 60  # characters of a text within a sentence
NOT_CONSIDERED = "not considered"
RULED_OUT = "ruled out"  # by the constraint


def notice(search: BeamSearch) -> str:
    """What there is to see in the tree just now: what became of greedy decoding, and the beams."""
    steps = search.steps
    last = steps[-1]
    way = _greedy_way(steps)
    greedy = ids_of(steps, way[-1])
    text = quoted(text_of(steps, way[-1]))
    if way[-1][0] < last.index and steps[way[-1][0]].candidates[way[-1][1]].fate != FINISHED:
        said = f"Greedy decoding went for {text}; in step {way[-1][0] + 2} no beam goes on from it."
    elif steps[way[-1][0]].candidates[way[-1][1]].fate == PRUNED and last.stop_reason is None:
        said = f"Step {way[-1][0] + 1} pruned {text}, which greedy decoding would have written."
    elif greedy == last.ids_after:
        said = "So far the best hypothesis is the text of greedy decoding."
    else:
        at = next(
            (
                place
                for place, pair in enumerate(zip(greedy, last.ids_after, strict=False))
                if pair[0] != pair[1]
            ),
            min(len(greedy), len(last.ids_after)),
        )
        said = (
            f"The best hypothesis leaves greedy decoding at token {at + 1}; "
            f"greedy’s {text} is not the best any more."
        )
    parents = len({one.parent for one in last.kept})
    if last.index and last.kept and parents < len(last.kept):
        beams = "1 beam" if parents == 1 else f"{parents} beams"
        said += f" All {len(last.kept)} beams come from {beams} of the step before."
    if last.pool:
        said += f" {counted(len(last.pool), 'text')} finished; the best scores "
        said += f"{number(last.pool[0].score, 2)}."
    return said


def _greedy_way(steps: Sequence[BeamStep]) -> list[Place]:
    """The path of greedy decoding as far as the search looked at it."""
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
    """A text on one line, what has no ink as glyphs, spaces as they are."""
    return " ".join(visible(word) for word in text.split(" ")).strip() or "⟨empty⟩"


def quoted(text: str) -> str:
    """A text within a sentence."""
    shown = plain(text)
    return f"“{shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + '…'}”"


def place_name(steps: Sequence[BeamStep], place: Place, label: Callable[[int], str]) -> str:
    """A node of the tree, as a list names it."""
    step, at = place
    one = steps[step].candidates[at]
    groups = max(other.group for other in steps[step].candidates)
    group = f", group {one.group + 1}" if groups else ""
    return f"step {step + 1}{group}, rank {one.rank}: {label(one.token_id)} ({one.fate})"


def hypothesis(prompt: str, steps: Sequence[BeamStep], place: Place) -> str:
    """The prompt and the text of a hypothesis."""
    return (
        '<p class="dv-written beam-hypothesis" tabindex="0">'
        f"<span>{escaped(prompt)}</span>{escaped(text_of(steps, place))}</p>"
    )


def no_more(steps: Sequence[BeamStep], place: Place) -> str:
    """Why nothing follows a hypothesis."""
    step, at = place
    one = steps[step].candidates[at]
    if one.fate == FINISHED:
        return f"This text is complete; its score is {number(one.score, 3)}. Nothing follows it."
    if steps[step].stop_reason is not None:
        return "The search ended in this step, so nothing follows this beam."
    return f"It was rank {one.rank} of its step and was pruned, so nothing follows it."


def following_table(
    steps: Sequence[BeamStep], place: Place, found: NextTokens, label: Callable[[int], str]
) -> str:
    """What may follow a beam, over the full vocabulary, and what became of each."""
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
    rows.append((f"{found.rest:,} other tokens", percent(found.rest_mass), "", "", ""))
    head = ("token", "probability", "step score", "sum", "became")
    return table("What may follow", head, rows, "figures")


def _became(token: NextToken, fates: Mapping[int, str], is_next: bool) -> str:
    if not token.is_left:
        return RULED_OUT
    return "next step" if is_next else fates.get(token.token_id, NOT_CONSIDERED)


def hidden(tree: Tree) -> str:
    """What the tree leaves out; empty where it shows all."""
    if not tree.hidden:
        return ""
    noun = "hypothesis is" if tree.hidden == 1 else "hypotheses are"
    return f"{tree.hidden:,} pruned {noun} not shown."


def ranking_table(search: BeamSearch) -> str:
    """All hypotheses of the search as it stands, best first."""
    rows = [
        (
            f"{place}",
            "finished" if one.is_finished else "beam",
            number(one.score, 3),
            number(one.logprob, 3),
            f"{len(one.token_ids)}",
            plain(one.text),
        )
        for place, one in enumerate(search.hypotheses, 1)
    ]
    head = ("rank", "is", "score", "log-probability", "tokens", "text")
    return table("Ranking of this search", head, rows)


def texts_list(prompt: str, texts: Sequence[SetText]) -> str:
    """Texts of all decoders, likeliest first."""
    ranked = sorted(texts, key=lambda one: -one.logprob)
    about = [
        (
            one.name,
            f"{number(one.logprob, 2)} nats",
            f"{number(one.per_token, 2)} per token",
            f"distinct-1 {number(one.distinct_1, 2)}",
            f"distinct-2 {number(one.distinct_2, 2)}",
            counted(len(one.token_ids), "token"),
        )
        for one in ranked
    ]
    pairs = zip(about, (one.text for one in ranked), strict=True)
    return text_list("Texts, likeliest first", prompt, pairs)


def texts_notice(texts: Sequence[SetText]) -> str:
    """Whether the likelier texts are the blander ones here, from the figures; empty without."""
    beams = [one for one in texts if one.kind == BEAM and one.token_ids]
    greedy = [one for one in texts if one.kind == GREEDY and one.token_ids]
    samples = [one for one in texts if one.kind == SAMPLE and one.token_ids]
    if not (beams and greedy and samples):
        return ""
    best = beams[0]
    gain = best.logprob - greedy[0].logprob
    if best.token_ids == greedy[0].token_ids:
        said = "The best beam wrote the text of greedy decoding."
    else:
        than = "more" if gain >= 0 else "less"
        said = f"The best beam’s text has {number(abs(gain), 2)} nats {than} than greedy’s."
    mean = statistics.fmean(one.per_token for one in samples)
    varied = statistics.fmean(one.distinct_1 for one in samples)
    bland = "blander" if best.distinct_1 < varied else "no blander"
    likelier = "likelier" if best.per_token > mean else "no likelier"
    return (
        f"{said} It is {likelier} than the samples ({number(best.per_token, 2)} against "
        f"{number(mean, 2)} nats per token), and {bland}: distinct-1 {number(best.distinct_1, 2)} "
        f"against {number(varied, 2)}."
    )


def verdict(found: SearchError, inputs: BeamInputs) -> str:
    """What the exact search says of the page's own width."""
    own = next(miss for miss in found.misses if miss.width == inputs.width)
    tokens = counted(inputs.exact_tokens, "token")
    if not found.best.is_proven:
        why = {
            "nodes": f"after {counted(found.best.visited, 'beginning')}",
            "memory": f"with {counted(found.best.open, 'beginning')} waiting",
            "cancelled": f"cancelled after {counted(found.best.visited, 'beginning')}",
        }[found.best.stopped]
        return (
            f"Out of reach: {why}, no text of at most {tokens} is proven best. The best text "
            f"scores between {number(found.best.score, 3)} and {number(found.best.bound, 3)}."
        )
    ending = "" if len(found.best.token_ids) >= inputs.exact_tokens else ", which ends there"
    shown = f"{quoted(found.best.text)}{ending}"
    kept = " All of these texts keep to the constraint." if inputs.language else ""
    return (
        f"Proven: no text of at most {tokens} is likelier than {shown}. {_missed(own, found)}{kept}"
    )


def _missed(miss: Miss, found: SearchError) -> str:
    name = f"Beam {miss.width}"
    if miss.token_ids == found.best.token_ids:
        return f"{name} found it."
    if miss.found:
        return f"{name} found one that is as likely."
    return f"{name} misses it by {number(miss.nats, 2)} nats."


def _outcome(miss: Miss, found: SearchError) -> str:
    if miss.token_ids == found.best.token_ids:
        return "found"
    return "as likely" if miss.found else f"{number(miss.nats, 2)} nats"


def proof(found: SearchError, dtype: str) -> str:
    """The figures of the proof; the dtype decides how exact they are."""
    best = found.best
    passes = "1 pass" if best.passes == 1 else f"{best.passes:,} passes"
    said = (
        f"{best.visited:,} beginnings read in {passes}, {best.pruned:,} pruned unread, "
        f"{best.open:,} left, in {number(best.seconds, 1)} s. The best text has "
        f"{number(best.score, 3)}"
    )
    if best.largest_pruned is not None:
        said += f"; what was pruned could reach {number(best.largest_pruned, 3)} at most"
    if dtype == "float32":
        return f"{said}."
    return f"{said}. Passes in {dtype} round, so figures hold to some hundredths of a nat."


def misses_table(found: SearchError) -> str:
    """The best text, and what every width found."""
    name = "exact" if found.best.is_proven else "best known"
    rows = [(name, number(found.score, 3), "", plain(found.best.text))]
    rows += [
        (
            f"beam {miss.width}",
            number(miss.score, 3),
            _outcome(miss, found),
            plain(miss.text),
        )
        for miss in found.misses
    ]
    return table("Exact search and beams", ("search", "score", "misses by", "text"), rows)
