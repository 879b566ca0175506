"""Dependency parsing: a head and a relation for each word."""
