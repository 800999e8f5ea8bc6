"""The page on which every decoder continues one prompt, under one clock."""
