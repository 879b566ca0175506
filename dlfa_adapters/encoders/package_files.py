"""Files that installed packages carry, found through package metadata: nothing of those packages is imported."""

from importlib import metadata
from pathlib import Path

from dlfa_adapters.ground.errors import DataError, MissingExtraError
from dlfa_adapters.ground.files import sha256_of

_INSTALL = 'pip install "dlfa-adapters[demo]"'


def package_file(distribution: str, member: str, sha256: str) -> Path:
    """Path of a file in an installed distribution, after checking its bytes.

    Args:
        distribution: Name on the package index.
        member: The end of the file's path in it.
        sha256: What the file must hash to.

    Raises:
        MissingExtraError: If the distribution is not installed or has no such file.
        DataError: If the file has another checksum.
    """
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError(
            f"The offline encoder needs the package {distribution}, which is not installed; type: {_INSTALL}"
        ) from error
    path = next((Path(str(f.locate())) for f in files if f.as_posix().endswith(member)), None)
    if path is None or not path.is_file():
        raise MissingExtraError(
            f"The installed package {distribution} has no file {member}; type: {_INSTALL} --force-reinstall"
        )
    found = sha256_of(path)
    if found != sha256:
        raise DataError(
            f"{path.name} of the package {distribution} should have sha256 {sha256}, it has {found}; "
            f"type: {_INSTALL} --force-reinstall"
        )
    return path
