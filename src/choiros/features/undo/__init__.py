"""Taking back what happened: the last change, any change, a run, or everything since a point."""
