"""A kernel as an operator of a framework: the project that the command writes, built once and kept."""

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
from ._request import Names, names
from ._source import Program, named
from .errors import CotangentError

_loaded: Dict[Path, ModuleType] = {}


def stated(
    fn: str,
    name: str,
    sizes: Mapping[str, str],
    values: Optional[Mapping[str, str]],
    grid: Optional[str],
    block: Optional[str],
    shared: str,
    types: Sequence[str],
    wrt: Names,
    outputs: Names,
) -> List[str]:
    """What the user states, in words of the command line."""
    words = ["--fn", fn, "--name", name]
    words += ["--grid", grid] if grid is not None else []
    words += ["--block", block] if block is not None else []
    words += ["--shared", shared] if shared != "0" else []
    words += ["--types", ",".join(types)] if types else []
    words += ["--wrt", ",".join(names(wrt))] if wrt is not None else []
    words += ["--out", ",".join(names(outputs))] if outputs is not None else []
    for array, of_array in sizes.items():
        words += ["--size", f"{array}={of_array}"]
    for number, value in (values or {}).items():
        words += ["--value", f"{number}={value}"]
    return words


def write(framework: str, place: Place, words: Sequence[str], folder: "str | os.PathLike[str]") -> None:
    """Writes the project."""
    with step(f"Differentiating {place.shown}"), named(str(place.file), place.shown):
        finished = call([framework, str(place.file), "--json", *words, "-o", os.fspath(folder), "--", *place.flags])
        if finished.returncode != 0:
            raise failure(finished)


def loaded(framework: str, version: str, program: Program, words: Sequence[str], cuda: Sequence[int], flags: Sequence[str]) -> Any:
    """The project's module. It is built if it is not there for this version of the framework."""
    place = Place(program, flags)
    name = words[words.index("--name") + 1]
    folder = place.kept([framework, words, list(cuda), version], "-operator")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch, "operator")
            write(framework, place, words, made)
            with step(f"Building the operator {name}"):
                _build(made, cuda)
            try:
                os.replace(made, folder)
            except OSError:  # Another process was faster.
                if not folder.is_dir():
                    raise
    if folder not in _loaded:
        _loaded[folder] = _module(folder, f"{name.replace('::', '_')}_{framework}")
    return _loaded[folder]


def _build(folder: Path, cuda: Sequence[int]) -> None:
    words = [sys.executable, str(folder / "build.py"), *(["--cuda", *map(str, cuda)] if cuda else [])]
    env = {**os.environ, "COTANGENT": str(COMMAND)}
    finished = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise CotangentError(f"the operator cannot be built\n{finished.stderr.strip()}")


def _module(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
