"""The page of lessons."""

from ui.learn.page import learn_page

learn_page()
