"""Pseudo-perplexity of masked language models (Salazar et al. 2020, arXiv 1910.14659), by language."""
