"""Kernels as PyTorch operators."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._command import COMMAND, call, failure
from ._library import Place
from ._progress import step
from ._source import Program, named
from .errors import CotangentError

_loaded: Dict[Path, Any] = {}


def operator(
    program: Program,
    fn: str,
    name: str,
    *,
    sizes: Mapping[str, str],
    grid: str,
    block: str,
    values: Optional[Mapping[str, str]] = None,
    shared: str = "0",
    types: Sequence[str] = (),
    cuda: Sequence[int] = (),
    flags: Sequence[str] = (),
) -> Any:
    """The operator of a kernel: ``torch.ops.LIBRARY.NAME``, with autograd, twice, for tensors of the CPU and, with ``cuda``, of GPUs.

    ``fn`` may name the type of data ``scalar_t``: ``"sample<scalar_t>"``; ``types`` says what that stands for, ``("float", "double")`` if it
    does not. ``name`` is ``"library::name"``. ``sizes`` has the sizes of each array,
    ``{"image": "B, C, H, W"}``; ``values`` those of numbers that follow from them, ``{"width": "W"}``; other numbers are arguments of the operator.
    ``grid``, ``block`` and ``shared`` are computed of sizes: ``"(B * C * H * W + 127) / 128"``. ``cuda`` lists architectures for nvcc, ``[80, 90]``.

    The operator is built once, which takes a minute, and kept until the program changes. `project` writes the same to a folder of yours.
    """
    words = _words(fn, name, sizes, values or {}, grid, block, shared, types)
    place = Place(program, flags)
    import torch  # type: ignore[import-not-found,unused-ignore]

    folder = place.kept([words, list(cuda), torch.__version__], "-operator")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch, "operator")
            _write(place, words, made)
            with step(f"Building the operator {name}"):
                _build(made, cuda)
            try:
                os.replace(made, folder)
            except OSError:  # Another process was faster.
                if not folder.is_dir():
                    raise
    if folder not in _loaded:
        _loaded[folder] = _module(folder, name)
    library, own = name.split("::")
    return getattr(getattr(torch.ops, library), own)


def project(
    program: Program,
    fn: str,
    name: str,
    folder: "str | os.PathLike[str]",
    *,
    sizes: Mapping[str, str],
    grid: str,
    block: str,
    values: Optional[Mapping[str, str]] = None,
    shared: str = "0",
    types: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> None:
    """Writes the operator's sources, its build file and its test into a folder, as ``cotangent torch`` does."""
    _write(Place(program, flags), _words(fn, name, sizes, values or {}, grid, block, shared, types), Path(folder))


def _words(
    fn: str,
    name: str,
    sizes: Mapping[str, str],
    values: Mapping[str, str],
    grid: str,
    block: str,
    shared: str,
    types: Sequence[str],
) -> List[str]:
    words = ["--fn", fn, "--name", name, "--grid", grid, "--block", block, "--shared", shared]
    words += ["--types", ",".join(types)] if types else []
    for array, stated in sizes.items():
        words += ["--size", f"{array}={stated}"]
    for number, stated in values.items():
        words += ["--value", f"{number}={stated}"]
    return words


def _write(place: Place, words: Sequence[str], folder: Path) -> None:
    with step(f"Differentiating {place.shown}"), named(str(place.file), place.shown):
        finished = call(["torch", str(place.file), "--json", *words, "-o", str(folder), "--", *place.flags])
        if finished.returncode != 0:
            raise failure(finished)


def _build(folder: Path, cuda: Sequence[int]) -> None:
    words = [sys.executable, str(folder / "build.py"), *(["--cuda", *map(str, cuda)] if cuda else [])]
    env = {**os.environ, "COTANGENT": str(COMMAND)}
    finished = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise CotangentError(f"the operator cannot be built\n{finished.stderr.strip()}")


def _module(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace("::", "_"), folder / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
