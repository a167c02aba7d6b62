"""Arguments of functions in C++, made of values in Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Tuple

import numpy as np

DTYPES = {"b": "?", "f": "f", "i": "i", "u": "u", "h": "f", "g": "u"}
"""NumPy's letter for those of `launcher.hpp`. It has no bfloat16, whose bits are taken as whole numbers."""


@dataclass(frozen=True)
class Parameter:
    """What a function takes: a value, or a pointer to values."""

    letter: str
    """Of the value, as `launcher.hpp` has them."""
    dtype: "np.dtype[Any]"
    is_pointer: bool
    is_const: bool

    @staticmethod
    def read(described: str) -> Parameter:
        """As `launcher.hpp` writes it."""
        is_pointer = described.startswith("*")
        is_const = described.startswith("*c")
        code = described[2:] if is_pointer else described
        letter, size = code[0], int(code[1:])
        spelled = DTYPES.get(letter)
        dtype = np.dtype(f"V{size}") if spelled is None else np.dtype(spelled if spelled == "?" else f"{spelled}{size}")
        return Parameter(letter, dtype, is_pointer, is_const)

    def held(self, value: Any, at: int) -> Tuple[int, Any]:
        """The address of the argument, and what must live as long as it is used."""
        if not self.is_pointer:
            number = self._value(value, at)
            return number.ctypes.data, number
        array = None if value is None else self._array(value, at)
        pointer = ctypes.c_void_p(None if array is None else array.ctypes.data)
        return ctypes.addressof(pointer), (pointer, array)

    def _array(self, value: Any, at: int) -> "np.ndarray[Any, Any]":
        if not isinstance(value, np.ndarray):
            raise TypeError(f"argument {at} is a pointer: a NumPy array of {self.dtype} is wanted, not {type(value).__name__}")
        if self.letter in "sp":
            is_whole = value.nbytes % self.dtype.itemsize == 0
            if not is_whole:
                raise TypeError(f"argument {at} points to structs of {self.dtype.itemsize} bytes, and the array has {value.nbytes}")
        elif self.letter != "v" and value.dtype != self.dtype:
            raise TypeError(f"argument {at} is an array of {self.dtype}, not of {value.dtype}; convert it: .astype(np.{self.dtype})")
        if self.is_const:
            return np.ascontiguousarray(value)
        if not value.flags.c_contiguous or not value.flags.writeable:
            raise ValueError(f"argument {at} is written to, and the array is read-only or not contiguous")
        return value

    def _value(self, value: Any, at: int) -> "np.ndarray[Any, Any]":
        size = self.dtype.itemsize
        if self.letter == "p" and value is None:
            return np.zeros((), np.uintp)
        if self.letter not in "sp":
            number = np.array(value)
            if number.shape != () or not np.can_cast(number.dtype, self.dtype, "same_kind") and number.dtype.kind not in "iub":
                raise TypeError(f"argument {at} is a number of type {self.dtype}, not {value!r}")
            converted = number.astype(self.dtype)
            if self.letter in "iu" and int(converted) != int(number):
                raise OverflowError(f"argument {at} is a number of type {self.dtype}, and {value!r} does not fit")
            return converted
        if isinstance(value, (bytes, np.ndarray, np.void)):
            struct = np.frombuffer(bytes(value) if isinstance(value, bytes) else value.tobytes(), np.uint8).copy()
            if struct.nbytes == size:
                return struct
        raise TypeError(f"argument {at} is a struct of {size} bytes: give them as bytes, or as a NumPy array or record")
