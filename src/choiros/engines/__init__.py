"""What touches the outside world: one folder per kernel port, one file per technology."""
