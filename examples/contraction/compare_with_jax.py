"""Compares the tensors that contraction.cu writes with what JAX computes for the same contractions on the CPU."""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

lines = open(sys.argv[1]).read().splitlines()
worst = {"C": 0.0, "gradient with respect to A": 0.0, "gradient with respect to B": 0.0}
for first in range(0, len(lines), 7):
    along_a, *a, along_b = (int(word) for word in lines[first].split()[:5])
    b = [int(word) for word in lines[first].split()[5:]]
    tensors = [np.array(line.split(), dtype=np.float64) for line in lines[first + 1 : first + 7]]
    A, B = tensors[0].reshape(a), tensors[1].reshape(b)

    C, pullback = jax.vjp(lambda A, B: jax.numpy.tensordot(A, B, axes=(along_a, along_b)), A, B)
    d_A, d_B = pullback(tensors[3].reshape(C.shape))
    for name, ours, theirs in zip(worst, (tensors[2], tensors[4], tensors[5]), (C, d_A, d_B)):
        assert ours.size == theirs.size, name
        worst[name] = max(worst[name], float(np.abs(ours - np.ravel(theirs)).max()))

print(f"{len(lines) // 7} contractions, JAX {jax.__version__}")
for name, error in worst.items():
    print(f"  {name}: largest difference {error:.1e}")
# Sums of at most 42 products of numbers below 1, in single precision.
sys.exit(0 if len(lines) == 63 and max(worst.values()) < 1e-5 else 1)
