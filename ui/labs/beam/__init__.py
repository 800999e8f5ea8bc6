"""The beam search page.

inputs    inputs that a person chooses
lab       one visitor's search, the node chosen in its tree, both background experiments
tree      the layout of the hypotheses as a tree
charts    the tree, and texts by likelihood and diversity
view      tables and sentences
page      the whole page
"""
