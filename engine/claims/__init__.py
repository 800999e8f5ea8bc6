"""Claims about language models, each tested by an experiment that ends in a verdict.

    claim          definition of a claim: inputs, experiment, tables, charts; `claim_of` finds one
    inputs         the adjustable inputs of an experiment, by kind
    verdict        comparison of figures with the claim's predictions, and the verdict
    uncertainty    figures with an interval: shares, means, statistics over several texts
    experiment     base of all experiments: a `Measurement` whose result has checks
    grid           experiments that time prompt lengths x output lengths
    survivors      experiments that examine every step of several texts
    texts          experiments that write texts in several ways
    facts          questions with one-word answers
    experiments/   the claims themselves, one file each

    >>> experiment = claim_of("tail").experiment(load_model(), temperatures="0.1, 1")
    >>> for seconds_left in experiment.run(): ...
    >>> judge(experiment.result.checks).outcome
    'depends'

To add a claim:

    experiments/<key>.py    a result, a frozen dataclass that can be saved to a file, with the
                            `checks` of its verdict; and `CLAIM`: inputs, experiment, table
    lessons/claims.toml     a section with that key, in the order of the page: the claim, the
                            evidence that would refute it, the measurement, names of figures

The page draws a default chart of the checks. Text shown to visitors is marked with `msg`.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "claim": "CROSSES Cell Chart Claim Stop Token claim_of",
        "experiment": "AnyResult Experiment",
        "facts": "Facts known_facts",
        "inputs": "Choice Input Line Real Text Whole",
        "uncertainty": "BOOTSTRAP CLOPPER_PEARSON COUNTED LEAST RESAMPLES Figure counted share",
        "verdict": "NO NOTED OPEN YES Check Verdict judge",
    },
)
