"""The tokens page: how tokenizers split a text, step by step, and what its tokens cost."""
