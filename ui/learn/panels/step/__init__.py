"""The step page in a lesson: its own session, and of its parts those that the lesson names."""
