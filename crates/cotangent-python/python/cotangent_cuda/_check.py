"""Derivatives checked on the CPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._command import call, failure
from ._progress import step
from ._request import Names, names
from ._source import Program, on_disk, shown


@dataclass(frozen=True)
class Comparison:
    """A line of the report."""

    what: str
    worst: Optional[float]
    """The largest difference, relative; none if it is not finite."""
    allowed: float
    ok: bool
    first_wrong: Optional[str]


@dataclass(frozen=True)
class Report:
    """What ``cotangent check`` found."""

    ok: bool
    """Whether all is right."""
    comparisons: Tuple[Comparison, ...]
    data: Dict[str, Any]
    """All fields; the manual's page on ``check`` has them."""

    def __str__(self) -> str:
        lines = [f"{self.data['function']}: {'right' if self.ok else 'WRONG'}"]
        for line in self.comparisons:
            worst = "not finite" if line.worst is None else f"{line.worst:.1e}"
            lines.append(f"  {line.what}: {worst} of {line.allowed:.1e} {'ok' if line.ok else 'WRONG'}")
            lines += [f"    {line.first_wrong}"] if line.first_wrong else []
        return "\n".join(lines)


def check(
    program: Program,
    fn: str,
    wrt: Names = None,
    *,
    args: Optional[str] = None,
    launch: Optional[str] = None,
    split: bool = False,
    save: Names = None,
    rollback: Names = None,
    pure: bool = False,
    deterministic: bool = False,
    nvcc: bool = False,
    seed: int = 0,
    flags: Sequence[str] = (),
) -> Report:
    """Compares a function's derivatives with differences and with each other, on the CPU.

    ``args`` says how its arguments are made, ``"in<float>(64), out<float>(64), 64"``; without it they are guessed. ``launch`` is
    blocks and threads: ``"2x32"``. Options and report are those of ``cotangent check``.
    """
    words: List[str] = ["--fn", fn, f"--seed={seed}"]
    words += [f"--wrt={','.join(names(wrt))}"] if wrt is not None else []
    words += [f"--args={args}"] if args is not None else []
    words += [f"--launch={launch}"] if launch is not None else []
    words += [f"--save={','.join(names(save))}"] if save else []
    words += [f"--rollback={','.join(names(rollback))}"] if rollback else []
    switches = {"--split": split, "--pure": pure, "--deterministic": deterministic, "--nvcc": nvcc}
    words += [word for word, is_set in switches.items() if is_set]
    with on_disk(program, flags) as (file, its_flags), step(f"Checking {fn} of {shown(program)}"):
        finished = call(["check", file, "--json", *words, "--", *its_flags])
        data = json.loads(finished.stdout or "{}")
        if "comparisons" not in data:
            raise failure(finished)
    comparisons = tuple(Comparison(**line) for line in data["comparisons"])
    return Report(bool(data["ok"]), comparisons, data)
