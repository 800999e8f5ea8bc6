"""The tests' evidence for each stage, in numbers, in one place.

    python -m tests.engine.sampling.samplers.evidence

prints the table of stages. It has the number of random rows compared with transformers, if it has
the stage, and with a slow twin of the definition. It also has the number of cases worked out by
hand. The tests take their row counts from here.
"""

from collections import Counter

from engine.sampling import DEFAULT_ORDER
from engine.sampling.samplers import Stage

# Random rows per stage against transformers' processor, by size of the vocabulary.
AGAINST_TRANSFORMERS = {4: 400, 50: 400, 16_384: 400, 151_936: 64}
# The most common stages are compared over more rows at the largest size.
MORE = {
    *("repetition_penalty", "temperature", "top_k", "top_p", "min_p"),
    *("temperature, top_p", "five"),  # chains
}
MORE_ROWS = 200
# Random rows per stage against a slow twin in plain Python, written from the paper or source.
AGAINST_TWIN = {4: 400, 50: 400, 2_000: 104, 16_384: 8}


def rows_against_transformers(stage: str, vocab: int) -> int:
    """The number of rows of this size over which a stage is compared."""
    return MORE_ROWS if vocab == 151_936 and stage in MORE else AGAINST_TRANSFORMERS[vocab]


def has_processor(kind: type[Stage]) -> bool:
    """Return True if transformers has this stage."""
    return kind.processor is not Stage.processor


def cases_by_hand() -> Counter:
    """Setting -> number of hand-computed cases on four tokens."""
    from tests.engine.sampling import test_stages
    from tests.engine.sampling.samplers.cases import CASES

    counts = Counter(case.stage.setting for case in CASES)
    for function, place in (
        (test_stages.test_stage_gives_the_hand_computed_probabilities, 0),
        (test_stages.test_repetition_penalty_rescales_only_seen_tokens, None),
    ):
        (mark,) = [mark for mark in function.pytestmark if mark.name == "parametrize"]
        for values in mark.args[1]:
            counts["repetition_penalty" if place is None else values[place].setting] += 1
    return counts


def table() -> str:
    """The table as Markdown."""
    by_hand = cases_by_hand()
    lines = [
        "| stage | equals transformers, rows | slow twin, rows | by hand |",
        "|---|---|---|---|",
    ]
    for kind in DEFAULT_ORDER:
        name = kind.setting
        theirs = sum(rows_against_transformers(name, vocab) for vocab in AGAINST_TRANSFORMERS)
        theirs = f"{theirs:,}" if has_processor(kind) else "it has none"
        twin = f"{sum(AGAINST_TWIN.values()):,}"
        lines.append(f"| {name} | {theirs} | {twin} | {by_hand[name]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
