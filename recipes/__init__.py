"""Scripts to read, run, copy and edit; no package."""

raise ModuleNotFoundError("the recipes are scripts to copy and edit, not a package; type: dlfa recipes cp ner")
