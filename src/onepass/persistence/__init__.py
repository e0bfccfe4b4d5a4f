"""State and files: declared fields, the archive that holds them, and atomic writes."""
