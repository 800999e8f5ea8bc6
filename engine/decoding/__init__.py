"""Ways to choose tokens, one file each, over what all of them share."""
