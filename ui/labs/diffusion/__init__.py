"""The diffusion page: a canvas whose masks are filled in several places at once.

lab.py            the models and inputs; one canvas, with the step and position shown
page.py           fields, and the parts of the page
picture.py        the sentence on what to notice; tiles, heat map, order, one distribution
joint.py          two positions drawn at once, against one after the other
quality.py        quality and time against the number of steps
charts.py         the figures
"""
