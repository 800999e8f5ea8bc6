"""The page that times every decoder on one prompt."""
