"""Alpha compositing of splats, as a JAX operator: checked, then trained. `python splats_jax.py`"""

from pathlib import Path

import jax
import jax.numpy as jnp
from cotangent_cuda.jax import operator
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)
composite = operator(
    Path(__file__).with_name("splats.cu"), "composite<scalar_t>", "examples::composite",
    sizes={"centers": "S, 2", "scales": "S", "opacities": "S", "colours": "S, 3", "image": "height, width, 3"},
    values={"splats": "S"}, grid="(width + 7) / 8, (height + 7) / 8", block="8, 8",
)
keys, shapes = jax.random.split(jax.random.key(0), 4), ((3, 2), 3, 3, (3, 3))
inputs = [jax.random.uniform(key, shape) for key, shape in zip(keys, shapes)]
check_grads(lambda *all: composite(*all, 4, 5), inputs, order=2, modes=["rev"])
centers, scales, opacities = jax.random.uniform(keys[0], (12, 2)) * 16, jnp.full(12, 0.1), jnp.full(12, 0.6)
target, colours = composite(centers, scales, opacities, jax.random.uniform(keys[1], (12, 3)), 16, 16), jnp.zeros((12, 3))
loss = jax.jit(jax.value_and_grad(lambda c: jnp.mean((composite(centers, scales, opacities, c, 16, 16) - target) ** 2)))
first = loss(colours)[0]
for _ in range(60):
    colours = colours - 10 * loss(colours)[1]
print("examples::composite: loss", first, "then", loss(colours)[0])
