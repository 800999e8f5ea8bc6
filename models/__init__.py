"""The bundled checkpoints, their model card, and the code that reproduces them."""
