"""The tests of onepass, a package so that no installed package of this name hides it."""
