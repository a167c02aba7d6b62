"""Kernels as PyTorch operators."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence

from ._library import Place
from ._operator import loaded, stated, write
from ._request import Names
from ._source import Program


def operator(
    program: Program,
    fn: str,
    name: str,
    *,
    sizes: Mapping[str, str],
    grid: Optional[str] = None,
    block: Optional[str] = None,
    values: Optional[Mapping[str, str]] = None,
    shared: str = "0",
    wrt: Names = None,
    outputs: Names = None,
    types: Sequence[str] = (),
    cuda: Sequence[int] = (),
    flags: Sequence[str] = (),
) -> Any:
    """The operator of a kernel: ``torch.ops.LIBRARY.NAME``, with autograd, twice, for tensors of the CPU and, with ``cuda``, of GPUs.

    ``fn`` may name the type of data ``scalar_t``: ``"sample<scalar_t>"``; ``types`` says what that stands for, ``("float", "double")`` if it
    does not. ``name`` is ``"library::name"``. ``sizes`` has the sizes of each array, ``{"image": "B, C, H, W"}``; ``values`` those of numbers
    that follow from them, ``{"width": "W"}``; other numbers are arguments of the operator. ``grid``, ``block`` and ``shared`` are computed of
    sizes: ``"(B * C * H * W + 127) / 128"``; a function of the host launches by itself. ``wrt`` names the inputs and results that have
    derivatives, if not all have. ``outputs`` names arrays that begin with zeros and are results, though the kernel reads what it has stored
    there. ``cuda`` lists architectures for nvcc, ``[80, 90]``.

    The operator is built once, which takes a minute, and kept until the program changes. `project` writes the same to a folder of yours.
    """
    import torch  # type: ignore[import-not-found,unused-ignore]

    words = stated(fn, name, sizes, values, grid, block, shared, types, wrt, outputs)
    loaded("torch", torch.__version__, program, words, cuda, flags)
    library, own = name.split("::")
    return getattr(getattr(torch.ops, library), own)


def project(
    program: Program,
    fn: str,
    name: str,
    folder: "str | os.PathLike[str]",
    *,
    sizes: Mapping[str, str],
    grid: Optional[str] = None,
    block: Optional[str] = None,
    values: Optional[Mapping[str, str]] = None,
    shared: str = "0",
    wrt: Names = None,
    outputs: Names = None,
    types: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> None:
    """Writes the operator's sources, its build file and its test into a folder, as ``cotangent torch`` does."""
    write("torch", Place(program, flags), stated(fn, name, sizes, values, grid, block, shared, types, wrt, outputs), folder)
