"""Texts measured and compared.

metrics           of one text, of many together
sweep             two settings over a grid, and what they make of prompts
likelihood        how likely a model finds a text
exact_best        the most likely text of at most n tokens, with a proof
search_error      by how much beam search misses it
set_texts         texts of beam search, greedy decoding and the nucleus, side by side
wrong_token       one wrong token in a text under a constraint
one_clock         decoders timed on one prompt
generation_order  masked diffusion: order, positions per step, confidence
joint_error       masked diffusion: two tokens drawn at once, against one after the other
steps_and_quality masked diffusion: quality and time against the number of steps
acceptance        of a draft's proposals, and the paper's formulas
speedup           speculative decoding timed against plain decoding, loss by loss
"""
