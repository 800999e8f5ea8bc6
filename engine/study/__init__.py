"""Texts measured and compared.

metrics           of one text, of many together
sweep             two settings over a grid, and what they make of prompts
likelihood        how likely a model finds a text
exact_best        the most likely text of at most n tokens, with a proof
search_error      by how much beam search misses it
set_texts         texts of beam search, greedy decoding and the nucleus, side by side
constraint        what a constraint did step by step; one wrong token under it
one_clock         decoders timed on one prompt
generation_order  masked diffusion: order, positions per step, confidence
joint_error       masked diffusion: two tokens drawn at once, against one after the other
steps_and_quality masked diffusion: quality and time against the number of steps
acceptance        of a draft's proposals, and the paper's formulas
speedup           speculative decoding timed against plain decoding, loss by loss
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "engine.study.acceptance": "Acceptance",
        "engine.study.attention": "attention_weights",
        "engine.study.constraint": (
            "Broken ConstraintFigures Ribbon figures_at ribbon without_constraint"
        ),
        "engine.study.likelihood": "token_logprobs",
        "engine.study.metrics": "Spread Summary TextMetrics find_loop summary text_metrics",
        "engine.study.one_clock": "Entrant OneClock Timed",
        "engine.study.search_error": "Miss SearchError SearchErrorStudy",
        "engine.study.set_texts": "SetText",
        "engine.study.speedup": "SpeedCurve SpeedPoint SpeedTrial",
        "engine.study.steps_and_quality": "Passage StepsSummary summaries",
        "engine.study.sweep": "Axis Sweep SweepProgress SweepResult",
        "engine.study.whole_texts": "WholeText WholeTexts",
    },
)
