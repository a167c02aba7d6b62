"""What can go wrong. Every message says what to do next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional, Sequence


class CotangentError(Exception):
    """Something went wrong; of this very class if it is the machine's fault: a file, a folder, a tool."""

    def _named(self, path: str, name: str) -> CotangentError:
        """The same with another name for a file that the user does not know."""
        return type(self)(str(self).replace(path, name))


class ToolMissing(CotangentError):
    """A program that is needed is not installed; the message names the package that has it."""


class InvalidRequest(CotangentError, ValueError):
    """What was asked for makes no sense: a flag that is not taken, options that exclude each other."""


class ProgramError(CotangentError):
    """Clang rejects the program; the message is Clang's."""


class LaunchError(CotangentError):
    """A launch failed, as the CUDA runtime tells."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with a program, and where."""

    code: str
    """Stable: ``C0102``. The manual has a page of all."""
    message: str
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]
    label: str
    """What is said under the caret."""
    help: Optional[str]
    """The way out."""


class Refused(CotangentError):
    """The program cannot be differentiated right, so it is not. The message shows the places, and says what to do."""

    def __init__(self, rendered: str, findings: Sequence[Finding]) -> None:
        super().__init__(rendered)
        self.findings = tuple(findings)

    @property
    def first(self) -> Finding:
        """The first finding; others may follow from it."""
        return self.findings[0]

    @property
    def code(self) -> str:
        """The code of the first finding."""
        return self.first.code

    @property
    def file(self) -> Optional[str]:
        """The file of the first finding."""
        return self.first.file

    @property
    def line(self) -> Optional[int]:
        """The line of the first finding, counted from 1."""
        return self.first.line

    @property
    def column(self) -> Optional[int]:
        """The column of the first finding, counted from 1."""
        return self.first.column

    @property
    def help(self) -> Optional[str]:
        """The way out of the first finding."""
        return self.first.help

    def _named(self, path: str, name: str) -> Refused:
        findings = [replace(found, file=name if found.file == path else found.file) for found in self.findings]
        return Refused(str(self).replace(path, name), findings)
