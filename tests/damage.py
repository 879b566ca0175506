"""Harm to a file of a folder, for tests of what is said about it."""


def damage(name, how):
    """What harms `name` in a folder: `missing` removes it, `cut` shortens it, any other text stands in its place."""

    def apply(folder):
        path = folder / name
        if how == "missing":
            path.unlink()
        elif how == "cut":
            path.write_bytes(path.read_bytes()[:-3])
        else:
            path.write_text(how)

    return apply
