"""Measures the bundled models: likelihood, facts, texts, recitation, acceptance, diffusion, time.

`evaluate` runs everything. Each part is a separate function that returns plain values:

`likelihood`    bits per byte of held-out text
`recall`        facts known, and entropy at facts and at open points
`verbatim`      whether a prompt occurs in the training texts
`generation`    texts by the app's engine
`recitation`    n-grams that a text shares with the training texts
`repetition`    n-grams that a text repeats, loops
`acceptance`    how often the target would accept the draft's proposals
`diffusion`     gaps and passages, against the number of steps
`timing`        loading, a step, file sizes
"""

from models.training.evaluation.report import evaluate

__all__ = ["evaluate"]
