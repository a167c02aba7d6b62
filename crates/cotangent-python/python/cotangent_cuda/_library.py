"""Functions of a program compiled for the CPU, kept in the cache folder until the program changes."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, List, Sequence, Tuple

import numpy as np

from . import _native
from ._arguments import Parameter
from ._command import COMMAND, call, failure
from ._progress import step
from ._source import NAME, Program, all_flags, is_text, named, shown
from .errors import LaunchError

LAUNCHER = Path(__file__).with_name("launcher.hpp")

THROWN = -1
"""What a call returns after an exception of C++."""

ENTRIES = """
static constexpr auto cotangent_python_function = {function};
extern "C" const char* cotangent_python_signature() {{
  static const std::string text = cotangent_python::signature(cotangent_python_function);
  return text.c_str();
}}
extern "C" const char* cotangent_python_error(int code) {{
  if (code == cotangent_python::THROWN) return cotangent_python::thrown.c_str();
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}}
extern "C" int cotangent_python_call(const unsigned* shape, std::size_t shared, void** arguments, void* result) {{
  return cotangent_python::{call};
}}
"""

OF_KERNEL = "launch(cotangent_python_function, shape, shared, arguments)"
OF_FUNCTION = "call(cotangent_python_function, arguments, result)"


class Place:
    """A folder of the cache for all that is made of a program, as long as it and its headers are as they are."""

    def __init__(self, program: Program, flags: Sequence[str]) -> None:
        self.flags = all_flags(program, flags)
        self.shown = shown(program)
        if is_text(program):
            text = str(program)
            self.folder = _cache() / _hash([NAME, text, self.flags])
            self.file = self.folder / NAME
            write(self.file, text)
        else:
            self.file = Path(os.path.abspath(os.fspath(program)))
            self.folder = _cache() / _hash([str(self.file), self.flags])
        command = COMMAND.stat()
        state = [command.st_mtime_ns, command.st_size, LAUNCHER.read_text("utf-8")]
        read = sorted(map(str, _native.own_files(str(self.file), self.flags)))
        self.state = [*state, *([path, _hash([Path(path).read_bytes()])] for path in read)]

    def kept(self, what: Sequence[object], suffix: str) -> Path:
        """Where something that is made of the program lies, if it has been made."""
        return self.folder / (_hash([self.state, list(what)]) + suffix)


class Library:
    """A kernel or a function of the host, ready to be called."""

    def __init__(self, place: Place, text: str, fn: str, is_kernel: bool) -> None:
        path = place.kept([text, fn, is_kernel], ".so")
        if not path.is_file():
            _build(place, text, fn, is_kernel, path)
        library = ctypes.CDLL(str(path))
        library.cotangent_python_signature.restype = ctypes.c_char_p
        library.cotangent_python_error.restype = ctypes.c_char_p
        library.cotangent_python_error.argtypes = [ctypes.c_int]
        self._error: Callable[[int], bytes] = library.cotangent_python_error
        self._call = library.cotangent_python_call
        self._call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        result, *parameters = library.cotangent_python_signature().decode().split(",")
        self.result = Parameter.read(result)
        self.parameters = [Parameter.read(described) for described in parameters]

    def call(self, arguments: Sequence[Any], shape: Sequence[int] = (0,) * 6, shared: int = 0) -> Any:
        """Calls it with what its parameters say; the shape is grid and block. What it returns is a number, or nothing."""
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{len(self.parameters)} arguments are wanted, and {len(arguments)} given")
        held = [param.held(value, at) for at, (param, value) in enumerate(zip(self.parameters, arguments))]
        addresses = (ctypes.c_void_p * len(held))(*[address for address, _ in held])
        numbers = (ctypes.c_uint * 6)(*shape)
        result = np.zeros((), self.result.dtype) if self.result.letter != "v" else None
        code = self._call(numbers, shared, addresses, result.ctypes.data if result is not None else None)
        if code != 0:
            raise LaunchError(self._error(code).decode(errors="replace"))
        return None if result is None else result[()]


def shape_of(grid: Any, block: Any) -> Tuple[int, ...]:
    """Grid and block as six numbers; a number is that of blocks or threads along x."""
    return (*_three(grid, "grid"), *_three(block, "block"))


def _three(size: Any, name: str) -> List[int]:
    numbers = [int(number) for number in (size if isinstance(size, (tuple, list)) else (size,))]
    if len(numbers) > 3 or any(number < 0 or number >= 1 << 32 for number in numbers):
        raise ValueError(f"{name} is one to three numbers, not {size!r}")
    return numbers + [1] * (3 - len(numbers))


def _build(place: Place, text: str, fn: str, is_kernel: bool, path: Path) -> None:
    function = _pointer_to(fn)
    entries = ENTRIES.format(function=function, call=OF_KERNEL if is_kernel else OF_FUNCTION)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        source, made = Path(scratch, "launcher.cu"), Path(scratch, "launcher.so")
        source.write_text(f"{text}\n{LAUNCHER.read_text('utf-8')}{entries}", encoding="utf-8")
        words = ["build", str(source), "--shared", "-o", str(made), "--", *place.flags, f"-I{place.file.parent}"]
        with step(f"Compiling {fn} of {place.shown}"), named(str(place.file), place.shown):
            finished = call(words)
            if finished.returncode != 0:
                raise failure(finished)
        os.replace(made, path)


def _pointer_to(fn: str) -> str:
    """A pointer to the function; which of several is meant may be said by the types of its parameters."""
    if not fn.endswith(")"):
        return f"&{fn}"
    name, parameters = fn[:-1].split("(", 1)
    return f"static_cast<void (*)({parameters})>(&{name})"


def write(path: Path, text: str) -> None:
    """Writes a file that others may be reading, unless it is there already."""
    if path.is_file() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(scratch, path)


def _cache() -> Path:
    own = os.environ.get("COTANGENT_CACHE")
    general = os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(general, "cotangent") if general else Path.home() / ".cache" / "cotangent"
    return folder / "python"


def _hash(of: List[Any]) -> str:
    text = json.dumps(of, default=lambda value: hashlib.sha256(value).hexdigest())
    return hashlib.sha256(text.encode()).hexdigest()[:32]
