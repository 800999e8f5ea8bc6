"""What tokens spell, and what ends a text."""
