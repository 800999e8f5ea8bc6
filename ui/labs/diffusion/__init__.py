"""The diffusion page: a canvas whose masks are filled in several places at once.

lab.py            the models and inputs; one canvas, which step and position are looked at
page.py           fields, and what the page is made of
picture.py        the sentence on what there is to see; tiles, heat map, order, one distribution
joint.py          two positions drawn at once, against one after the other
quality.py        quality and time against the number of steps
charts.py         the figures
"""
