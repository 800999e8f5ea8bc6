"""The page "How this works": a text, the samplers, the glossary."""
