"""Entries for tests."""

from ui.learn.progress.entries import Answered, Predicted, StepRead, TaskSolved


def step(key: str = "press", when: int = 10) -> StepRead:
    return StepRead("the_loop", key, when)


def task(key: str = "three", when: int = 10, *, helped: bool = False) -> TaskSolved:
    return TaskSolved("the_loop", key, when, helped)


def answer(key: str = "why", when: int = 10, *, right: bool = True, sure: float = 0.8) -> Answered:
    return Answered("the_loop", key, when, "one", right, sure, 2)


def predicted(key: str = "first", when: int = 10, gap: float = 0.2) -> Predicted:
    return Predicted("the_loop", key, when, "Once", (0.7, 0.3), (0.9, 0.1), gap, 1.0)


def one_of_each() -> list:
    return [step(), task(), answer(), predicted()]
