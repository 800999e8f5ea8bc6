"""The diffusion page: each step fills several masked positions of a canvas at once.

lab.py            models and inputs; one canvas, with the step and position shown
page.py           fields, and the parts of the page
picture.py        the canvas as tiles, its scrubber, and the sentence on what to notice
history.py        charts of the steps so far, and one position's distribution
joint.py          two positions drawn together or one after the other
quality.py        quality and time against the number of steps
charts.py         the figures
"""
