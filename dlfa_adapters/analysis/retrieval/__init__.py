"""Words and sentences, and whether the nearest vector in the other language is that of the translation."""
