"""Programs: files, and texts that are put into one."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Sequence, Union

from .errors import CotangentError

Program = Union[str, "os.PathLike[str]"]
"""The path of a CUDA file, or its text."""

NAME = "program.cu"
"""What messages call a program that is given as text."""


def is_text(program: Program) -> bool:
    """Whether it is the text itself: no path has a brace or several lines."""
    return isinstance(program, str) and any(mark in program for mark in "\n{")


def shown(program: Program) -> str:
    """What messages call it."""
    return NAME if is_text(program) else os.fspath(program)


def all_flags(program: Program, flags: Sequence[str]) -> List[str]:
    """The flags for its file. Headers in quotes of a text are looked for in the working folder."""
    return [*flags, f"-I{os.getcwd()}"] if is_text(program) else list(flags)


@contextmanager
def on_disk(program: Program, flags: Sequence[str]) -> Iterator[tuple[str, List[str]]]:
    """The program's file and flags. Of a text the file is gone afterwards."""
    if not is_text(program):
        yield os.fspath(program), all_flags(program, flags)
        return
    with tempfile.TemporaryDirectory(prefix="cotangent-") as folder:
        file = Path(folder, NAME)
        file.write_text(str(program), encoding="utf-8")
        with named(str(file), NAME):
            yield str(file), all_flags(program, flags)


@contextmanager
def named(path: str, name: str) -> Iterator[None]:
    """Has errors that speak of a file call it otherwise."""
    try:
        yield
    except CotangentError as error:
        raise error._named(path, name) from None
