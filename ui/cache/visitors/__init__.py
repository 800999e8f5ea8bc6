"""Visitors: the line in front of the model, with simulated visitors in it."""
