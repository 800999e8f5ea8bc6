"""Benchmark of the page: visitors' waiting times and the server's costs.

measure.py    `python -m benchmarks page`: which figures, in which order, with which goals
servers.py    the app, and the pages it is compared with, each in a process of its own
bare.py       serves these pages
twin.py       the twin: the same step on an ordinary Streamlit page
floor.py      the floor: the same step on the smallest page that draws both charts
floor.html    that page
texts.py      the texts that all of them step through
watch.js      times from a press to the frame that shows what it did
tab.py        a page in the browser
app_tab.py    the app's step page there
bare_tabs.py  the twin and the floor there
waits.py      Step, slider, Play, Run to end: the app against twin and floor
crowds.py     many visitors who step at once
visitors.py   these visitors, without browsers
beginnings.py the start of the server, and the way from page to page
models.py     models with a large vocabulary
"""
