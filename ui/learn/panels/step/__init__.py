"""The step page in a lesson: its own session, and the parts that the lesson names."""
