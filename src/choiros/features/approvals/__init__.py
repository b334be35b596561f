"""Questions to the person: what the gate wants allowed, and what the answers were."""
