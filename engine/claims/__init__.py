"""Sayings about language models, each as an experiment with a verdict.

    verdict        figures against what a claim says of them, and what follows
    uncertainty    figures with an interval: shares, means, anything of several texts
    experiment     what every experiment is: a `Measurement` that can be estimated beforehand; a
                   measurement of `engine.measure` is made one by `JudgedMeasurement`
    grid           experiments that time prompt lengths x output lengths
    texts          experiments that write texts in several ways
    facts          questions with one right word
    experiments/   the claims themselves

A claim is a file of its own in `experiments`: an `Experiment`, and its result, a frozen dataclass
that a file can keep. `checks` of the result are the figures that the verdict stands on; nothing
else decides it. Words are no part of this: they stand in `lessons/claims.toml`.
"""
