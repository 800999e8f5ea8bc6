"""The state of a tab on all pages, in memory and on disk."""
