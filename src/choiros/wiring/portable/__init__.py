"""A person's whole computer as one file: packed, checked, unpacked elsewhere, and kept as backups."""
