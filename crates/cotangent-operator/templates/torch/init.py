"""The operator @SPACE@::@NAME@, made by Cotangent from the kernel of @SOURCE@. `build.py` builds it."""

from pathlib import Path

import torch

torch.ops.load_library(str(Path(__file__).with_name("lib@NAME@.so")))

for _device in ("cpu", "cuda"):
    # Sums in half precision lose digits: under autocast the operator works in single precision.
    torch.library.register_autocast("@SPACE@::@NAME@", _device, torch.float32)

@NAME@ = torch.ops.@SPACE@.@NAME@
