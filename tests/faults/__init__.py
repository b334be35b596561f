"""The planted faults: mistakes that somebody could make in this program, and the tests that must see each."""
