"""What a tab has on all pages, in memory and on disk."""
