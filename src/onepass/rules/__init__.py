"""One algorithm per file, in the small space."""
