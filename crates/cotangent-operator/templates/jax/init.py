"""The operator @NAME@ for JAX, made by Cotangent from the kernel of @SOURCE@. `build.py` builds it.

Arrays of any kind are arguments; numbers are known when JAX traces, so under `jax.jit` they are static."""

import ctypes
import operator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

_FUNCTIONS = [@FUNCTIONS@]
_TYPES = {@TYPES@}

_library = ctypes.CDLL(str(Path(__file__).with_name("lib@NAME@.so")))
for _function in _FUNCTIONS:
    for _type in _TYPES.values():
        for _device, _platform in (("cpu", "cpu"), ("cuda", "CUDA")):
            _handler = getattr(_library, f"@NAME@_{_function}_{_type}_{_device}", None)
            if _handler is not None:
                jax.ffi.register_ffi_target(f"@SPACE@_@NAME@_{_function}_{_type}", jax.ffi.pycapsule(_handler), platform=_platform)


def _rank(name, array, sizes, words):
    if array.ndim != sizes:
        raise ValueError(f"@SPACE@::@NAME@: {name} has {array.ndim} dimensions, and is to have {sizes}: {words}")


def _fits(name, array, shape, words, dtype):
    if array.shape != shape:
        raise ValueError(f"@SPACE@::@NAME@: {name} has the shape {array.shape}, and is to have {words}, which is {shape}")
    if array.dtype != dtype:
        raise TypeError(f"@SPACE@::@NAME@: {name} is of type {array.dtype}, and is to be of type {np.dtype(dtype)}")


def _static(name, value):
    if isinstance(value, jax.core.Tracer):
        raise TypeError(f"@SPACE@::@NAME@: {name} is a number that must be known when JAX traces; under `jax.jit` name it in `static_argnames`")


def _whole(name, value, dtype):
    value = operator.index(value)
    if not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise ValueError(f"@SPACE@::@NAME@: {name} is {value}, which does not fit the kernel's parameter")
    return value


def _call(function, first, launch, kept, changed, results, integers, floats):
    """Launches what works on `changed`, each of which begins as it is here; those at `results` are returned."""
    if first.dtype.name not in _TYPES:
        raise TypeError(f"@SPACE@::@NAME@ takes {', '.join(_TYPES)}, and not {first.dtype}")
    if not all(0 <= size < 2**31 for size in launch):
        raise ValueError(f"@SPACE@::@NAME@: a launch of {launch[:3]} blocks with {launch[3:6]} threads and {launch[6]} bytes of shared memory")
    call = jax.ffi.ffi_call(
        f"@SPACE@_@NAME@_{function}_{_TYPES[first.dtype.name]}",
        [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in changed],
        input_output_aliases={len(kept) + at: at for at in range(len(changed))},
        vmap_method="sequential",
    )
    numbers = {"launch": np.array(launch, np.int64), "integers": np.array(integers, np.int64), "floats": np.array(floats, np.float64)}
    made = call(*kept, *changed, **numbers)
    return tuple(made[at] for at in results)


def _sizes(@INPUTS@):
    """What the arrays tell."""
    _s = {}
@SIZES_BODY@
    return _s


@CALLS@
