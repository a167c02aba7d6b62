"""Reverse-mode derivatives of existing CUDA C++, as readable CUDA C++; run and checked without a GPU.

>>> import cotangent_cuda as cc
>>> print(cc.grad("layer.cu", "layer_norm", wrt="x, y"))        # the gradient's text
>>> cc.check("layer.cu", "layer_norm", wrt="x, y").ok           # compared with differences, on the CPU
>>> norm = cc.Kernel("layer.cu", "layer_norm")                  # launched on NumPy arrays, on the CPU
>>> norm(x, y, 64, grid=8, block=64)

A program is the path of a CUDA file, or its text.
"""

from ._check import Comparison, Report, check
from ._derivative import Derivative, grad
from ._kernel import Function, Gradient, Kernel
from ._run import Finished, run
from .errors import CotangentError, Finding, InvalidRequest, LaunchError, ProgramError, Refused, ToolMissing

__all__ = [
    "Comparison",
    "CotangentError",
    "Derivative",
    "Finding",
    "Finished",
    "Function",
    "Gradient",
    "InvalidRequest",
    "Kernel",
    "LaunchError",
    "ProgramError",
    "Refused",
    "Report",
    "ToolMissing",
    "check",
    "grad",
    "run",
]
