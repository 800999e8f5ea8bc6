"""The claims, one file each; see `engine.claims` for their structure."""
