"""Lessons: predictions, quizzes and what a person has done."""
