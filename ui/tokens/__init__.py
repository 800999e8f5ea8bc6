"""The tokens page: any text as tokens, how they were made, and what they cost."""
