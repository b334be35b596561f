"""What was announced to be done outside the log, and what became of it."""
