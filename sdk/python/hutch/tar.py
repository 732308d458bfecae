"""Packs one file as a tar and unpacks one, for read_bytes() and write_bytes()."""
from __future__ import annotations

import contextlib
import io
import os
import tarfile
from typing import BinaryIO, Iterator, Optional, Tuple, TypeVar

from .errors import CopyMissingError, ExistsError, FolderError, HutchError, InvalidError, LimitError, NotFoundError

MOST = 64 << 20
Bytes = TypeVar("Bytes", bytes, memoryview)
PIECE = 1 << 16
BLOCK = 512


@contextlib.contextmanager
def missing() -> Iterator[None]:
    """Turns NotFoundError of a copy into the error for a missing file."""
    try:
        yield
    except NotFoundError as e:
        raise CopyMissingError(e.message, remedy=e.remedy) from None


@contextlib.contextmanager
def folder() -> Iterator[None]:
    """Turns the error for a folder in the place of the file into FolderError."""
    try:
        yield
    except ExistsError as e:
        raise FolderError(e.message, remedy=e.remedy) from None


def nowhere(data: bytes) -> None:
    """A sink for the stdout of an unpacker, which prints nothing."""


def pieces(data: Bytes) -> Iterator[Bytes]:
    for at in range(0, len(data), PIECE):
        yield data[at:at + PIECE]


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while data := file.read(PIECE):
        yield data


def write_all(file: BinaryIO, data: bytes) -> None:
    """Writes all bytes; a raw file may take only a part of them at once."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0:]


def of_file(data: bytes, mode: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("file")
        info.size, info.mode = len(data), mode
        tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def place(path: str) -> str:
    """The name of the file in the tar; copy.in gets the whole path beside it."""
    name = os.path.basename(path)
    if not path:
        raise InvalidError("an empty path names no file")
    if not name or name in (".", ".."):
        raise FolderError(f"{path!r} names a folder")
    return name


class OneFile:
    """Collects a tar as it comes, up to a bound."""

    def __init__(self, path: str, most: int) -> None:
        self._path, self._most = path, most
        self._tar = io.BytesIO()

    def put(self, data: bytes) -> None:
        # Adds room for headers and for the padding of the last block.
        if self._tar.tell() + len(data) > self._most + (1 << 16):
            raise self._too_large_or_folder((self._tar.getvalue()[:1 << 16] + data)[:1 << 16])
        self._tar.write(data)

    def data(self) -> bytes:
        tar = self._tar.getbuffer()
        at, length = self._first(tar)
        if length > self._most:
            raise self._too_large()
        if length > len(tar) - at:
            raise HutchError(f"copy.out {self._path}: the tar is not complete")
        return bytes(tar[at:at + length])

    def _first(self, tar: memoryview) -> Tuple[int, int]:
        """The offset and length of the first file's content.  This parser is strict, since an
        attacker may have written the tar."""
        at, size = 0, None
        try:
            while True:
                header = bytes(tar[at:at + BLOCK])
                if len(header) < BLOCK or header[257:262] != b"ustar":
                    raise ValueError("there is no header")
                length, at = _number(header[124:135], 8), at + BLOCK
                if header[156:157] != b"x":
                    break
                size = _pax_size(bytes(tar[at:at + length]), size)
                at += (length + BLOCK - 1) // BLOCK * BLOCK
        except ValueError as e:
            raise HutchError(f"copy.out {self._path}: the answer is no tar: {e}") from None
        if header[156:157] == b"5":
            raise FolderError(f"{self._path} is a folder", remedy="copy_out() copies folders")
        if header[156:157] not in (b"0", b"\0"):
            raise InvalidError(f"{self._path} is no file", remedy="copy_out() copies folders")
        return at, length if size is None else size

    def _too_large_or_folder(self, begin: bytes) -> HutchError:
        try:
            self._first(memoryview(begin))
        except FolderError as e:
            return e
        except HutchError:
            pass  # no tar, and too large to check
        return self._too_large()

    def _too_large(self) -> LimitError:
        return LimitError(f"{self._path} has more than {self._most} bytes",
                          remedy="copy_out() copies it as it comes")


def _number(digits: bytes, base: int) -> int:
    """Parses digits only; int() would also take signs, blanks and underscores."""
    if not digits.isdigit() or len(digits) > 20:
        raise ValueError(f"{digits!r} is no number")
    return int(digits, base)


def _pax_size(records: bytes, size: Optional[int]) -> Optional[int]:
    """The size in an extended header, which has records "LENGTH KEY=VALUE\n", pax(1)."""
    at = 0
    while at < len(records):
        blank = records.index(b" ", at, at + 21)
        end = at + _number(records[at:blank], 10)
        equals = records.find(b"=", blank, end)
        if end > len(records) or equals < 0 or records[end - 1:end] != b"\n":
            raise ValueError("an extended header is torn")
        if records[blank + 1:equals] == b"size":
            size = _number(records[equals + 1:end - 1], 10)
        at = end
    return size
