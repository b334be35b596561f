"""The whole computer in one event loop, on a simulated disk, with simulated time: one seed repeats everything."""
