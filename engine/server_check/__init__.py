"""Checks of what a server really does, each with a verdict from its figures.

    check         all checks, as a `Measurement`
    honoured      settings: honoured, changed or dropped, by the server's account or by its draws
    draws         tests of settings by draws, with a bound on false alarms over all of them
    multinomial   the test: do draws come from a distribution
    raw           whether samplers move the listed values
    chain         the server's final probabilities compared with those of our chain
    conventions   readings of samplers that other programs have
    crowd         temperature 0, alone and among other texts
    engines       temperature 0, on two engines
    speculation   the server's counts of its own speculation
    greedy        greedy texts with the scores of every step
    samplers      the samplers that are tested, and their values
    text          the text to continue, and the rows that the server lists
    finding       outcome, sentences and tables of a check
    report        all findings as JSON, and as a page of Markdown for a bug report

A check says in one sentence which figures a server does not give.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "check": "MOST_DRAWS MOST_LENGTH MOST_OTHERS Plan ServerCheck",
        "finding": "AS_EXPECTED DIFFERS OPEN Cell Finding Sheet TokenText",
        "crowd": "Crowd",
        "engines": "Engines",
        "report": "is_on_server report_json report_markdown",
    },
)
