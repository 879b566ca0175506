"""Data: readers and sources, words and sub-words, windows, batches."""
