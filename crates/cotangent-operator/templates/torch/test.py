"""Tests of the operator @SPACE@::@NAME@ on the CPU: `python -m unittest test_@NAME@` in this folder, after `python build.py`."""

import importlib.util
import unittest
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("@SPACE@_@NAME@", HERE / "__init__.py")
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)

# Small sizes that differ; change them to those that the kernel is for.
@SIZES@
@NUMBERS@

def inputs():
    torch.manual_seed(0)
    return (
@INPUTS@
    )


class Operator(unittest.TestCase):
    def test_its_gradient_is_that_of_differences(self):
        self.assertTrue(torch.autograd.gradcheck(MODULE.@NAME@, inputs()@STEPS@))

@TWICE@    def test_it_is_an_operator_as_pytorch_wants_it(self):
        torch.library.opcheck(MODULE.@NAME@, inputs())


if __name__ == "__main__":
    unittest.main()
