"""Derivatives as text."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Union

from . import _native
from ._progress import step
from ._request import Names, Request, names
from ._source import Program, on_disk, shown
from .errors import InvalidRequest


@dataclass(frozen=True)
class Derivative:
    """A derivative: CUDA C++ with all that it needs."""

    text: str
    notes: str
    """What one should know about it, as shown in a terminal."""
    metadata: Dict[str, Any]
    """Functions, parameters in order, what each adjoint holds before, the size of the record. The manual's page on NVRTC has
    the fields."""

    def __str__(self) -> str:
        return self.text

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the text to a file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Highlighted, for notebooks."""
        try:
            from pygments import highlight
            from pygments.formatters import HtmlFormatter
            from pygments.lexers import CudaLexer
        except ImportError:
            return f"<pre>{html.escape(self.text)}</pre>"
        return str(highlight(self.text, CudaLexer(), HtmlFormatter(noclasses=True, nobackground=True)))


def grad(
    program: Program,
    fn: str,
    wrt: Names = None,
    *,
    of: Names = None,
    mode: str = "reverse",
    split: bool = False,
    save: Names = None,
    rollback: Names = None,
    record_slots: Optional[int] = None,
    record_budget: Union[float, str, None] = None,
    wide_adjoints: bool = False,
    deterministic: bool = False,
    pure: bool = False,
    target: str = "nvcc",
    flags: Sequence[str] = (),
) -> Derivative:
    """The derivative of a function.

    ``fn`` is ``name``, ``space::name``, ``name<float, 128>`` or ``name(int, float*)``. ``wrt`` names inputs and outputs alike:
    ``"x, y"``; without it all parameters with floating values. ``flags`` are those of the compiler: ``["-I",
    "include", "-DN=64"]``. The other options are those of ``cotangent grad``, whose ``--help`` explains them.
    """
    if mode not in ("reverse", "forward") or target not in ("nvcc", "nvrtc"):
        raise InvalidRequest('mode is "reverse" or "forward", target "nvcc" or "nvrtc"')
    request = Request(
        function=fn,
        wrt=None if wrt is None else names(wrt),
        of=names(of),
        forward=mode == "forward",
        split=split,
        save=names(save),
        rollback=names(rollback),
        record_slots=record_slots,
        record_budget=None if record_budget is None else str(record_budget),
        wide_adjoints=wide_adjoints,
        deterministic=deterministic,
        pure=pure,
        nvrtc=target == "nvrtc",
    )
    return derivative(program, request, flags)


def derivative(program: Program, request: Request, flags: Sequence[str]) -> Derivative:
    """What the compiler answers."""
    with on_disk(program, flags) as (file, its_flags), step(f"Differentiating {request.function} of {shown(program)}"):
        text, notes, metadata = _native.derivative(file, its_flags, request)
    return Derivative(text, notes, json.loads(metadata) if metadata else {})
