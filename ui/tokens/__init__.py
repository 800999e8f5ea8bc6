"""The tokens page: any text as tokens, the way they were made, and their cost."""
