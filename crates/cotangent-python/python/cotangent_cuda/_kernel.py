"""Kernels and functions of the host that are called on NumPy arrays, and their gradients, on the CPU."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Sequence

import numpy as np

from ._arguments import Parameter
from ._derivative import Derivative, derivative
from ._library import Library, Place, shape_of, write
from ._request import Names, Request, names
from ._source import Program, named


class _Callable:
    """What a kernel and a function of the host have in common."""

    _is_kernel = True

    def __init__(self, program: Program, fn: str, *, flags: Sequence[str] = ()) -> None:
        self._place = Place(program, flags)
        self.name = fn
        text = f'#include "{self._place.file}"'
        self._library = Library(self._place, text, fn, self._is_kernel)

    @property
    def parameters(self) -> Sequence[Parameter]:
        """What it takes."""
        return tuple(self._library.parameters)

    def grad(self, wrt: Names = None, *, deterministic: bool = False, rollback: Names = None) -> Gradient:
        """Its gradient, ready to be called. ``wrt`` names inputs and outputs alike."""
        named = None if wrt is None else names(wrt)
        request = Request(self.name, named, rollback=names(rollback), deterministic=deterministic, pure=True)
        return Gradient(self._place, request, self._is_kernel, self.parameters)


class Kernel(_Callable):
    """A kernel, launched on NumPy arrays by the executor. It is compiled once and kept until the program changes.

    ``fn`` is ``name``, ``space::name``, ``name<float, 128>`` or ``name(int, float*)``. A launch writes into the arrays that it is
    given: ``kernel(x, y, n, grid=8, block=(16, 16))``. Memory is not looked at; ``check`` and ``run(…, check=True)`` do that.
    """

    def __call__(self, *args: Any, grid: Any, block: Any, shared: int = 0) -> None:
        self._library.call(args, shape_of(grid, block), shared)


class Function(_Callable):
    """A function of the host that launches kernels; all as in `Kernel`, without grid and block."""

    _is_kernel = False

    def __call__(self, *args: Any) -> Any:
        return self._library.call(args)


class Gradient:
    """The gradient of a kernel or a function, in the form that frameworks want.

    It leaves arguments and cotangents as they are, and returns the gradients by name.
    """

    derivative: Derivative
    """Its text."""

    def __init__(self, place: Place, request: Request, is_kernel: bool, parameters: Sequence[Parameter]) -> None:
        self.derivative = _kept(place, request)
        self._is_kernel = is_kernel
        self._own = list(parameters)
        vjp = next(function for function in self.derivative.metadata["functions"] if function["does"] == "vjp")
        self._names: List[str] = [param["name"] for param in vjp["parameters"]]
        self._adjoints: List[Dict[str, Any]] = self.derivative.metadata["adjoints"]
        self._library = Library(place, self.derivative.text, vjp["name"], False)

    @property
    def cotangents(self) -> List[str]:
        """The names of outputs, whose cotangents are wanted."""
        return [adjoint["of"] for adjoint in self._adjoints if adjoint["before"] != "zero"]

    def __call__(
        self,
        *args: Any,
        cotangents: Mapping[str, Any],
        grid: Any = None,
        block: Any = None,
        shared: int = 0,
    ) -> Dict[str, Any]:
        if len(args) != len(self._own):
            raise TypeError(f"{len(self._own)} arguments are wanted, and {len(args)} given")
        if set(cotangents) != set(self.cotangents):
            raise TypeError(f"cotangents are wanted of {', '.join(self.cotangents)}, not of {', '.join(cotangents)}")
        launch: List[Any] = []
        if self._is_kernel:
            if grid is None or block is None:
                raise TypeError("the gradient of a kernel is launched: grid and block are wanted")
            shape = np.array(shape_of(grid, block), np.uint32)
            launch = [shape[:3], shape[3:], shared, None]
        first = len(launch) + len(args)
        own = [_copied(param, value) for param, value in zip(self._own, args)]
        given = dict(zip(self._names[len(launch) : first], args))
        gradients: Dict[str, Any] = {}
        filled: Dict[str, Any] = {}
        for adjoint in self._adjoints:
            self._fill(adjoint, given[adjoint["of"]], cotangents, filled, gradients)
        self._library.call([*launch, *own, *(filled[name] for name in self._names[first:])])
        return gradients

    def _fill(
        self,
        adjoint: Mapping[str, Any],
        primal: Any,
        cotangents: Mapping[str, Any],
        filled: Dict[str, Any],
        gradients: Dict[str, Any],
    ) -> None:
        """What the gradient takes for a parameter."""
        of, name, before = adjoint["of"], adjoint["name"], adjoint["before"]
        param = self._library.parameters[self._names.index(name)]
        like = _shaped_like(primal, param)
        if before in ("cotangent", "copy", "gradient"):
            cotangent = np.asarray(cotangents[of])
            if cotangent.shape != like.shape:
                raise ValueError(f"the cotangent of {of} has the shape {cotangent.shape}, and {of} has {like.shape}")
            filled[f"{name}_after" if before == "gradient" else name] = np.ascontiguousarray(cotangent)
        if before in ("zero", "gradient"):
            filled[name] = gradients[of] = like
        filled[f"{name}_count"] = like.nbytes // param.dtype.itemsize


def _shaped_like(primal: Any, param: Parameter) -> Any:
    """An array for the gradient of an argument: of its shape, and of the type of its adjoint."""
    if not isinstance(primal, np.ndarray):
        return np.zeros((), param.dtype)
    return np.empty(primal.shape, primal.dtype if param.letter == "s" else param.dtype)


def _copied(param: Parameter, value: Any) -> Any:
    """What the gradient may write to: it runs the function, too."""
    is_written = param.is_pointer and not param.is_const and isinstance(value, np.ndarray)
    return value.copy(order="C") if is_written else value


def _kept(place: Place, request: Request) -> Derivative:
    """The derivative, from the cache if the program is as it was."""
    path = place.kept([asdict(request)], ".json")
    if not path.is_file():
        with named(str(place.file), place.shown):
            write(path, json.dumps(asdict(derivative(place.file, request, place.flags))))
    return Derivative(**json.loads(path.read_text("utf-8")))

