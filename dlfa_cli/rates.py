"""Options that take a learning rate, or several with commas between them."""


def rates(text: str | None, option: str) -> float | tuple[float, ...] | None:
    """A rate, several to try, or None where the option was left out.

    Raises:
        ConfigError: If it is no number.
    """
    from dlfa_adapters.ground.errors import ConfigError

    if text is None:
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"expected a rate or several, such as 1e-3,1e-2, in {option}, got {text!r}.") from None
    return found if len(found) > 1 else found[0]
