"""Layer norm with shared memory, as a JAX operator: checked, then trained. `python layer_norm_jax.py`"""

from pathlib import Path

import jax
import jax.numpy as jnp
from cotangent_cuda.jax import operator
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)
layer_norm = operator(
    Path(__file__).with_name("layer_norm.cu"), "layer_norm<scalar_t>", "examples::layer_norm",
    sizes={"x": "R, C", "weight": "C", "bias": "C", "y": "R, C"}, values={"columns": "C"}, grid="R", block="128",
)
keys = jax.random.split(jax.random.key(0), 4)
inputs = [jax.random.uniform(key, size) for key, size in zip(keys, ((3, 5), 5, 5))]
check_grads(lambda *all: layer_norm(*all, 1e-5), inputs, order=2, modes=["rev"])
x, weights = jax.random.normal(keys[3], (32, 20)), {"weight": jnp.ones(20), "bias": jnp.zeros(20)}
target = jax.random.uniform(keys[0], 20) * jax.nn.standardize(x, epsilon=1e-5) + jax.random.uniform(keys[1], 20)
loss = jax.jit(jax.value_and_grad(lambda w: jnp.mean((layer_norm(x, w["weight"], w["bias"], 1e-5) - target) ** 2)))
first = loss(weights)[0]
for _ in range(60):
    weights = jax.tree.map(lambda one, gradient: one - gradient, weights, loss(weights)[1])
print("examples::layer_norm: loss", first, "then", loss(weights)[0])
