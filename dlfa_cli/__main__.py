"""`python -m dlfa_cli` is `dlfa`."""

from dlfa_cli.main import main

main()
