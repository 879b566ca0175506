"""The console script `dlfa`. Importing this costs next to nothing; `dlfa_adapters` is imported inside commands only."""
