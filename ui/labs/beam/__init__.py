"""The page of beam search.

inputs    inputs that a person chooses
lab       one visitor's search, the choice in its tree, both experiments in the background
tree      the hypotheses of a search as places in a picture
charts    the tree, and texts by likelihood and variety
view      tables and sentences
page      the whole page
"""
