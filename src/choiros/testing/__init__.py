"""Doubles and contract suites for every port, shipped so that engine authors can use them."""
