"""Sayings about language models, each as an experiment with a verdict.

    claim          definition of a claim: inputs, experiment, tables, charts; `claim_of` finds one
    inputs         the adjustable inputs of an experiment, by kind
    verdict        figures against the claim's predictions, and the resulting verdict
    uncertainty    figures with an interval: shares, means, statistics over several texts
    experiment     base of all experiments: a `Measurement` whose result has checks
    grid           experiments that time prompt lengths x output lengths
    survivors      experiments that examine every step of some texts
    texts          experiments that write texts in several ways
    facts          questions with one right word
    experiments/   the claims themselves, one file each

    >>> experiment = claim_of("tail").experiment(load_model(), temperatures="0.1, 1")
    >>> for seconds_left in experiment.run(): ...
    >>> judge(experiment.result.checks).outcome
    'depends'

To add a claim:

    experiments/<key>.py    a result, a frozen dataclass that a file can keep, with the `checks` of
                            its verdict; and `CLAIM`: inputs, experiment, table
    lessons/claims.toml     a section of that key, at its place on the page: the saying, the
                            evidence to refute it, the measurement, names of figures

The page draws a default picture of the checks. Words for reading are marked by `msg`.
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
