"""Lines that other libraries log about what is done here on purpose."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_lines(logger: str, *beginnings: str) -> Iterator[None]:
    """Keep some lines of a library off its log for a while; whatever else it says stays.

    Args:
        logger: Name of the library's logger.
        *beginnings: How the lines begin.
    """

    def stays(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(beginnings)

    log = logging.getLogger(logger)
    log.addFilter(stays)
    try:
        yield
    finally:
        log.removeFilter(stays)
