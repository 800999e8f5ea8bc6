"""The claims: a file for each, beside its experiment in `engine.claims.experiments`."""
