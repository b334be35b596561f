"""What happened, who did it and why: the log made searchable."""
