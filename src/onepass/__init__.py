"""Principal components in one pass over data that need not fit in memory."""
