"""Programs run on the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence

from ._command import call
from ._progress import step
from ._source import Program, on_disk, shown


@dataclass(frozen=True)
class Finished:
    """A program that has ended."""

    returncode: int
    """Its own exit code; 1 if it does not compile, and then ``stderr`` says why."""
    stdout: str
    stderr: str


def run(
    program: Program,
    args: Sequence[str] = (),
    *,
    check: bool = False,
    seed: int = 0,
    threads: int = 0,
    input: Optional[str] = None,
    flags: Sequence[str] = (),
) -> Finished:
    """Runs a CUDA program on the CPU: ``main``, with its launches.

    With ``check`` every access to memory is looked at: races, bounds, uninitialised memory. ``seed`` permutes the order of blocks
    and threads. ``args`` are the words of the program, ``input`` what it reads, ``flags`` those of the compiler.
    """
    with on_disk(program, flags) as (file, its_flags), step(f"Running {shown(program)}"):
        words: List[str] = ["run", file, f"--seed={seed}", f"--threads={threads}"]
        words += ["--check"] if check else []
        words += ["--args", *args] if args else []
        finished = call([*words, "--", *its_flags], input)
    return Finished(finished.returncode, finished.stdout, finished.stderr.replace(file, shown(program)))
