"""Measurements and comparisons of texts.

metrics           metrics of one text, and of many together
sweep             one or two settings over a grid, and the texts they give
likelihood        how likely a model finds a text
api_answer        the answer of a model's API as JSON, with its probabilities
reading           a text read token by token: probabilities, ranks, what else was likely
two_models        one text under two models, also with other tokens
exact_search      the most likely text of at most n tokens, with a proof
search_error      how far beam search falls short of it
set_texts         texts of beam search, greedy decoding and nucleus sampling, side by side
constraint        effect of a constraint step by step; one wrong token under it
one_clock         decoders timed on one prompt
generation_order  masked diffusion: order, positions per step, confidence
joint_error       masked diffusion: two tokens drawn at once, against one after the other
steps_and_quality masked diffusion: quality and time against the number of steps
acceptance        acceptance of a draft's proposals, and the paper's formulas
speedup           speculative decoding timed against plain decoding, loss by loss
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "acceptance": "Acceptance",
        "api_answer": "ApiAnswer GivenToken parse_answer",
        "attention": "attention_weights",
        "constraint": "Broken ConstraintFigures Ribbon figures_at ribbon without_constraint",
        "exact_search": "CANCELLED MOST_EXACT MOST_NODES ExactProgress",
        "generation_order": (
            "COMMITTED GIVEN MASKED NEW REMASKED Order StepCount confidence_map gap_positions "
            "order_of positions_per_step states"
        ),
        "joint_error": "JointError joint_error_of",
        "likelihood": "token_logprobs",
        "metrics": "METRICS Spread Summary TextMetrics find_loop summary text_metrics",
        "one_clock": "Entrant OneClock Timed",
        "reading": "TOP PendingReading ReadToken TextReading read_text",
        "search_error": "BEAM_WIDTHS Miss SearchError SearchErrorStudy",
        "set_texts": "BEAM GREEDY KINDS SAMPLE SAMPLES SetText write_set_texts",
        "speedup": "SpeedCurve SpeedPoint SpeedTrial",
        "steps_and_quality": "Passage Plan StepsSummary summaries",
        "two_models": "PendingPair Stretch TwoReadings read_with_two",
        "sweep": "MOST_TEXTS Axis Sweep SweepProgress SweepResult frame_of",
        "validity": "Verdict judge",
        "whole_texts": "Walk WalkProgress WholeText WholeTexts",
    },
)
