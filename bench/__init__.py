"""What ChoirOS costs in time and memory: one file per figure, each measured side by side in one run."""
