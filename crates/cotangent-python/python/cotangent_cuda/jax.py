"""Kernels as JAX operators."""

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
    """The operator of a kernel: a function on JAX arrays, for ``jit``, ``grad`` and ``vmap``, on the CPU and, with ``cuda``, on GPUs.

    What is stated is the same as for `cotangent_cuda.torch.operator`. Numbers are known when JAX traces: under ``jit`` they are static.

    The operator is built once, which takes half a minute, and kept until the program changes. `project` writes the same to a folder of yours.
    """
    import jax  # type: ignore[import-not-found,unused-ignore]

    words = stated(fn, name, sizes, values, grid, block, shared, types, wrt, outputs)
    module = loaded("jax", jax.__version__, program, words, cuda, flags)
    return getattr(module, name.split("::")[1])


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
    """Writes the operator's sources, its build file and its test into a folder, as ``cotangent jax`` does."""
    write("jax", Place(program, flags), stated(fn, name, sizes, values, grid, block, shared, types, wrt, outputs), folder)
