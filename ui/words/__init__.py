"""Words for tokens and samplers: labels, the table of samplers, the glossary."""
