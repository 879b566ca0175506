"""Scores that lose no word: taggers, metrics, reports."""
