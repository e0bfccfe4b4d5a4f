"""Rows on their way to the learner: checked rows about a point, and the buffer that cuts chunks."""
