"""Tests of `dlfa_adapters.fusion`."""
