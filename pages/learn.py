"""The lessons page."""

from ui.learn.page import learn_page

learn_page()
