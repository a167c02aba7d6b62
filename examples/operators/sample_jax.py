"""Bilinear sampling with learned offsets, as a JAX operator: checked, then trained. `python sample_jax.py`"""

from pathlib import Path

import jax
import jax.numpy as jnp
from cotangent_cuda.jax import operator
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)
sample = operator(
    Path(__file__).with_name("sample.cu"), "sample<scalar_t>", "examples::sample",
    sizes={"image": "B, C, H, W", "offset": "B, 2, H, W", "out": "B, C, H, W"},
    values={"batch": "B", "channels": "C", "height": "H", "width": "W"},
    grid="(B * C * H * W + 127) / 128", block="128",
)
keys = jax.random.split(jax.random.key(0), 3)
check_grads(sample, [jax.random.uniform(key, (2, n, 3, 4)) for key, n in zip(keys, (3, 2))], order=2, modes=["rev"])
source, shift = jax.random.uniform(keys[2], (1, 1, 16, 16), jnp.float32), jnp.zeros((1, 2, 16, 16), jnp.float32)
target = sample(source, jnp.full_like(shift, 0.3))
loss = jax.jit(jax.value_and_grad(lambda shift: jnp.mean((sample(source, shift) - target) ** 2)))
first = loss(shift)[0]
for _ in range(60):
    shift = shift - 20 * loss(shift)[1]
print("examples::sample: loss", first, "then", loss(shift)[0])
