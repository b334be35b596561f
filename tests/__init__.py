"""The tests; a package, so that no installed package of the same name is taken for it."""
