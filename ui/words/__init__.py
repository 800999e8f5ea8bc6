"""What is said of tokens and samplers: labels, the table of samplers, the glossary."""
