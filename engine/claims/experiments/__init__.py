"""The claims, a file each; see `engine.claims` for what they are made of."""
