"""The diffusion page: a canvas whose masks are filled in several places at once.

masked_model.py   the masked diffusion models in this process
lab.py            what a person chooses; one canvas, and which step and position are looked at
page.py           fields, and what the page is made of
notice.py         the sentence on what there is to see
picture.py        tiles, heat map, order, positions per step, one distribution
joint.py          two positions drawn at once, against one after the other
quality.py        quality and time against the number of steps
charts.py         the figures
"""
