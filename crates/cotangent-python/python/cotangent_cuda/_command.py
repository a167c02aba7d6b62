"""The command that comes with the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import List, NoReturn, Optional, Sequence

from .errors import CotangentError, Finding, InvalidRequest, ProgramError, Refused, ToolMissing

COMMAND = Path(__file__).parent / "bin" / "cotangent"
"""The command itself."""

USAGE, MACHINE = 2, 3
"""Its exit codes for a fault of the command line, and of the machine."""


def main() -> NoReturn:
    """``cotangent-cuda``: the command, with the words of this process."""
    os.execv(COMMAND, [str(COMMAND), *sys.argv[1:]])


def call(words: Sequence[str], text: Optional[str] = None) -> "subprocess.CompletedProcess[str]":
    """Runs the command with these words, and this text as its standard input."""
    line: List[str] = [str(COMMAND), "--color=never", *words]
    try:
        return subprocess.run(line, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolMissing(f"cannot run {COMMAND}: {error.strerror}\n  Install the package anew.") from None


def failure(finished: "subprocess.CompletedProcess[str]") -> CotangentError:
    """What the command complained of; with ``--json`` it tells on standard output what it refuses."""
    said = finished.stderr.strip()
    found = json.loads(finished.stdout).get("refused") if finished.stdout.strip() else None
    if found:
        return Refused(said, [Finding(**one) for one in found])
    message = said[len("error: ") :] if said.startswith("error: ") else said
    if finished.returncode == USAGE:
        return InvalidRequest(message)
    if finished.returncode == MACHINE:
        is_missing = "was found" in message or "was not found" in message
        return ToolMissing(message) if is_missing else CotangentError(message)
    return ProgramError(message)
