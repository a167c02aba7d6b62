"""Tests of the operator @NAME@ on the CPU: `python -m unittest test_@NAME@` in this folder, after `python build.py`."""

import importlib.util
import unittest
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)

HERE = Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("@SPACE@_@NAME@", HERE / "__init__.py")
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)

# Small sizes that differ; change them to those that the kernel is for.
@SIZES@
@NUMBERS@
RANDOM = np.random.default_rng(0)
INPUTS = [
@INPUTS@
]
# The positions of those that have a derivative.
ACTIVE = [@ACTIVE@]


def function(*active):
    given = list(INPUTS)
    for at, value in zip(ACTIVE, active):
        given[at] = value
    return MODULE.@NAME@(*given)


class Operator(unittest.TestCase):
    def setUp(self):
        self.active = [INPUTS[at] for at in ACTIVE]

    def test_its_derivatives_are_those_of_differences(self):
        check_grads(function, self.active, order=@ORDER@, modes=["rev"]@STEPS@)

    def test_it_is_compiled_and_mapped(self):
        results = jax.tree.leaves(function(*self.active))
        for made in (jax.jit(function)(*self.active), jax.vmap(function)(*(jnp.stack([one, one]) for one in self.active))):
            for one, other in zip(results, jax.tree.leaves(made)):
                np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
