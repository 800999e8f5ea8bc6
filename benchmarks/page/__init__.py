"""Benchmark of the page: visitors' waiting times and the server's costs.

measure.py    `python -m benchmarks page`: the figures, their order and their goals
servers.py    the app, and the pages for comparison, each in a separate process
bare.py       serves these pages
twin.py       the twin: the same step on an ordinary Streamlit page
floor.py      the floor: the same step on the smallest page that draws both charts
floor.html    that page
texts.py      the texts that all three step through
watch.js      times from a press to the frame that shows its effect
tab.py        a page in the browser
app_tab.py    the app's step page in the browser
bare_tabs.py  the twin and the floor in the browser
waits.py      Step, slider, Play, Run to end: the app against twin and floor
crowds.py     many visitors who step at the same time
visitors.py   these visitors, without browsers
beginnings.py the start of the server, and the change from page to page
models.py     models with a large vocabulary
"""
