"""The compare page: several settings side by side on one prompt."""
