"""What there is to learn here: each concept with its lesson, its experiment and its question.

concepts.py   the map as data, from lessons/map/
view.py       on the page of lessons; its table is `ui/components/js/apps/map/`
"""
