"""Operators for JAX: beside JAX's own functions, with arrays of all kinds, compiled and mapped. `cargo xtask jax` runs it."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cotangent_cuda as cc
import jax
import jax.numpy as jnp
import numpy as np
from cotangent_cuda.jax import operator, project
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)

EXAMPLES = Path(__file__).parents[3] / "examples" / "operators"

# In place, with an array of whole numbers, and numbers that are arguments. In Python, `lambda` and `in` are no names.
RELAX = """
template <class T> __global__ void relax(T* u, const int* index, const T* in, T* gone, T lambda, bool twice, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T old = u[i];
  for (int t = 0; t < (twice ? 2 : 1); t++) u[i] += lambda * u[i] * in[index[i]];
  gone[i] = u[i] - old;
}
"""

RELAX_STATED = dict(sizes={"u": "N", "index": "N", "in": "M", "gone": "N"}, values={"n": "N"}, grid="(N + 31) / 32", block="32")

# Stops where the data says, so that the record of the second derivative is counted, and in place.
DECAY = """
template <class T> __global__ void decay(T* u, const T* by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (T left = by[i]; left > T(0.1); left *= by[i]) u[i] = sin(u[i]) * (T(1) + left);
}
"""

# With weights that are `float` whatever the type of data is.
WEIGH = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class T> __global__ void weigh(const T* x, const float* weights, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(weights[i] * float(x[i]) * float(x[i]));
}
"""

WEIGH_STATED = dict(sizes={"x": "N", "weights": "N", "y": "N"}, values={"n": "N"}, grid="(N + 31) / 32", block="32")

# A function of the host, with an array that it works in.
BOTH = """
template <class T> __global__ void cube(const T* u, T* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = u[i] * u[i] * u[i];
}
template <class T> __global__ void scale(const T* v, const T* k, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = k[0] * v[i];
}
template <class T> void both(const T* u, const T* k, T* v, T* out, int n, cudaStream_t stream) {
  cube<T><<<(n + 127) / 128, 128, 0, stream>>>(u, v, n);
  scale<T><<<(n + 127) / 128, 128, 0, stream>>>(v, k, out, n);
}
"""

# Sums that begin with zero, and a product with what was summed.
SUMS = """
template <class T> __global__ void add(const T* u, const int* index, T* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sum[index[i]], u[i] * u[i]);
}
template <class T> __global__ void multiply(const T* u, const int* index, const T* sum, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = u[i] * sum[index[i]];
}
template <class T> void sums(const T* u, const int* index, T* sum, T* out, int n, cudaStream_t stream) {
  add<T><<<(n + 127) / 128, 128, 0, stream>>>(u, index, sum, n);
  multiply<T><<<(n + 127) / 128, 128, 0, stream>>>(u, index, sum, out, n);
}
"""

# Arrays of vectors.
LENGTHS = """
__global__ void lengths(const double3* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sqrt(x[i].x * x[i].x + x[i].y * x[i].y + x[i].z * x[i].z);
}
"""

NORM = dict(sizes={"x": "R, C", "weight": "C", "bias": "C", "y": "R, C"}, values={"columns": "C"}, grid="R", block="128")


class InPlace(unittest.TestCase):
    def setUp(self):
        self.relax = operator(RELAX, "relax<scalar_t>", "tests::relax", **RELAX_STATED)
        random = np.random.default_rng(0)
        self.u, self.by = jnp.asarray(random.random(5)), jnp.asarray(random.random(3))
        self.index = jnp.asarray([0, 2, 1, 1, 2], jnp.int32)

    def function(self, u, by):
        return self.relax(u, self.index, by, 0.3, True)

    def expected(self, u, by):
        after = u * (1 + 0.3 * by[self.index]) ** 2
        return after, after - u

    def test_the_input_stays_as_it_is(self):
        before = np.array(self.u)
        for function in (self.function, jax.jit(self.function)):
            for one, other in zip(function(self.u, self.by), self.expected(self.u, self.by)):
                np.testing.assert_allclose(one, other)
            np.testing.assert_array_equal(self.u, before)

    def test_its_derivatives_are_those_of_differences_and_of_jax(self):
        check_grads(self.function, (self.u, self.by), order=2, modes=["rev"])
        loss = lambda function: lambda u, by: sum(jnp.sum(jnp.sin(part)) for part in function(u, by))  # noqa: E731
        ours, theirs = (jax.grad(loss(function), (0, 1))(self.u, self.by) for function in (self.function, self.expected))
        for one, other in zip(ours, theirs):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        ours, theirs = (jax.jacrev(jax.grad(loss(function)))(self.u, self.by) for function in (self.function, self.expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)

    def test_mapped(self):
        many = jnp.stack([self.u, 2 * self.u, 3 * self.u])
        mapped = jax.jit(jax.vmap(jax.grad(lambda u: self.function(u, self.by)[1].sum())))(many)
        for one, u in zip(mapped, many):
            np.testing.assert_allclose(one, jax.grad(lambda u: self.expected(u, self.by)[1].sum())(u), rtol=1e-12)

    def test_a_record_that_is_counted(self):
        decay = operator(DECAY, "decay<scalar_t>", "tests::decay", sizes={"u": "N", "by": "N"}, values={"n": "N"}, grid="1", block="N")
        u, by = jnp.asarray([0.9, 0.5, 0.05, 3.0]), jnp.asarray([0.7, 0.6, 0.5, 0.8])

        def expected(u, by):
            left = by
            for _ in range(20):
                goes_on = left > 0.1
                u, left = jnp.where(goes_on, jnp.sin(u) * (1 + left), u), jnp.where(goes_on, left * by, left)
            return u

        for function in (decay, jax.jit(decay)):
            np.testing.assert_allclose(function(u, by), expected(u, by), rtol=1e-14)
            of = lambda one: jax.jacrev(jax.grad(lambda *all: jnp.sum(one(*all) ** 2), (0, 1)), (0, 1))(u, by)  # noqa: E731
            for one, other in zip(jax.tree.leaves(of(function)), jax.tree.leaves(of(expected))):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)

    def test_what_does_not_fit_is_an_error(self):
        u, index, by = self.u, self.index, self.by
        wrong = [
            (ValueError, "index has the shape", (u, index[:2], by, 0.3, True)),
            (ValueError, "u has 2 dimensions", (u[None], index, by, 0.3, True)),
            (TypeError, "index is of type int64", (u, index.astype(jnp.int64), by, 0.3, True)),
            (TypeError, "takes float32, float64, and not float16", (u.astype(jnp.float16), index, by.astype(jnp.float16), 0.3, True)),
        ]
        for kind, message, arguments in wrong:
            with self.assertRaisesRegex(kind, message):
                self.relax(*arguments)
        with self.assertRaisesRegex(TypeError, "lambda is a number that must be known when JAX traces"):
            jax.jit(lambda number: self.relax(u, index, by, number, True))(0.3)
        empty = self.relax(u[:0], index[:0], by, 0.3, True)
        self.assertEqual([part.shape for part in empty], [(0,), (0,)])
        self.assertEqual(jax.grad(lambda by: self.relax(u[:0], index[:0], by, 0.3, True)[0].sum())(by).tolist(), [0.0, 0.0, 0.0])


class Types(unittest.TestCase):
    def test_an_array_of_one_type_takes_no_other(self):
        weigh = operator(WEIGH, "weigh<scalar_t>", "tests::weigh", **WEIGH_STATED)
        x, weights = jnp.linspace(0.5, 1.5, 7), jnp.linspace(1, 2, 7, dtype=jnp.float32)
        np.testing.assert_allclose(weigh(x, weights), weights * x * x, rtol=1e-6)
        d_x, d_weights = jax.grad(lambda x, weights: weigh(x, weights).sum(), (0, 1))(x, weights)
        np.testing.assert_allclose(d_x, 2 * weights * x, rtol=1e-6)
        np.testing.assert_allclose(d_weights, x * x, rtol=1e-6)
        with self.assertRaisesRegex(TypeError, "weights is of type float64, and is to be of type float32"):
            weigh(x, weights.astype(jnp.float64))

    def test_vectors_are_a_last_size(self):
        lengths = operator(LENGTHS, "lengths", "tests::lengths", sizes={"x": "N, 3", "y": "N"}, values={"n": "N"}, grid="1", block="32")
        check_grads(lengths, (jnp.linspace(0.5, 1.5, 21).reshape(7, 3),), order=2, modes=["rev"])

    def test_operators_for_half_precisions(self):
        weigh = operator(WEIGH, "weigh<scalar_t>", "tests::weigh_half", types=("half", "bfloat16"), **WEIGH_STATED)
        for half in (jnp.float16, jnp.bfloat16):
            x, weights = jnp.linspace(0.5, 1.5, 7, dtype=half), jnp.linspace(1, 2, 7, dtype=jnp.float32)
            exact = x.astype(jnp.float32)
            d_x, d_weights = jax.grad(lambda x, weights: weigh(x, weights).astype(jnp.float32).sum(), (0, 1))(x, weights)
            self.assertEqual((d_x.dtype, d_weights.dtype), (half, jnp.float32))
            np.testing.assert_allclose(d_x.astype(jnp.float32), 2 * weights * exact, rtol=float(jnp.finfo(half).eps))
            np.testing.assert_allclose(d_weights, exact**2, rtol=1e-6)


class HostFunctions(unittest.TestCase):
    def test_its_second_derivatives_are_those_of_jax(self):
        both = operator(BOTH, "both<scalar_t>", "tests::both", sizes={"u": "N", "k": "1", "v": "N", "out": "N"}, values={"n": "N"})
        u, k, v = jnp.linspace(0.1, 1.0, 3), jnp.asarray([2.0]), jnp.zeros(3)
        loss = lambda function: lambda *all: sum(jnp.sum(jnp.sin(part)) for part in function(*all))  # noqa: E731
        of = lambda one: jax.jacrev(jax.grad(loss(one), (0, 1, 2)), (0, 1, 2))(u, k, v)  # noqa: E731
        for one, other in zip(jax.tree.leaves(of(both)), jax.tree.leaves(of(lambda u, k, v: (u**3, k * u**3)))):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)

    def test_what_is_stated_to_be_a_result_begins_with_zeros(self):
        stated = dict(sizes={"u": "N", "index": "N", "sum": "N", "out": "N"}, values={"n": "N"})
        with self.assertRaisesRegex(cc.InvalidRequest, "`u` is stated to be a result, and the function stores nothing there"):
            operator(SUMS, "sums<scalar_t>", "tests::wrong", outputs="u", **stated)
        sums = operator(SUMS, "sums<scalar_t>", "tests::sums", outputs="sum", **stated)
        u, index = jnp.linspace(0.1, 1.0, 4), jnp.asarray([2, 0, 2, 1], jnp.int32)

        def expected(u):
            sum = jnp.zeros(4).at[index].add(u**2)
            return sum, u * sum[index]

        for one, other in zip(sums(u, index), expected(u)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        loss = lambda function: lambda u: sum(jnp.sum(jnp.sin(part)) for part in function(u))  # noqa: E731
        found, of_jax = (jax.grad(loss(f))(u) for f in (lambda u: sums(u, index), expected))
        np.testing.assert_allclose(found, of_jax, rtol=1e-12)
        found, of_jax = (jax.jacrev(jax.grad(loss(f)))(u) for f in (lambda u: sums(u, index), expected))
        np.testing.assert_allclose(found, of_jax, rtol=1e-12, atol=1e-12)


class Norm(unittest.TestCase):
    def test_it_is_that_of_jax(self):
        norm = operator(EXAMPLES / "layer_norm.cu", "layer_norm<scalar_t>", "tests::layer_norm", **NORM)
        random = np.random.default_rng(0)
        x, weight, bias, weights = (jnp.asarray(random.normal(size=size)) for size in ((8, 300), 300, 300, (8, 300)))
        theirs = lambda x, weight, bias: weight * jax.nn.standardize(x, epsilon=1e-5) + bias  # noqa: E731
        ours = lambda x, weight, bias: norm(x, weight, bias, 1e-5)  # noqa: E731
        gradients = (jax.jit(jax.grad(lambda *all: (one(*all) * weights).sum(), (0, 1, 2)))(x, weight, bias) for one in (ours, theirs))
        for one, other in zip(*gradients):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


class Project(unittest.TestCase):
    def test_a_project_builds_for_gpus_too(self):
        nvidia = Path(os.environ["COTANGENT_TESTED_WITH"])
        home = next(nvidia.glob("lib/python*/site-packages/nvidia/cu13"))
        with tempfile.TemporaryDirectory() as folder:
            project(EXAMPLES / "layer_norm.cu", "layer_norm<scalar_t>", "tests::for_gpus", folder, **NORM)
            words = [sys.executable, "build.py", "--cuda", "80", "90", "--nvcc", str(home / "bin/nvcc"), "--cuda-home", str(home)]
            env = {**os.environ, "COTANGENT": str(Path(cc.__file__).parent / "bin/cotangent")}
            subprocess.run(words, cwd=folder, env=env, check=True)
            dump = [str(home / "bin/cuobjdump"), "--dump-elf-symbols", f"{folder}/libfor_gpus.so"]
            said = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
            for architecture in ("sm_80", "sm_90"):
                parts = [part for part in said.split("Fatbin elf code:") if f"arch = {architecture}" in part]
                self.assertTrue(any("layer_norm_float_grad" in part for part in parts), architecture)
            symbols = subprocess.run(["nm", "-D", f"{folder}/libfor_gpus.so"], capture_output=True, text=True, check=True).stdout
            self.assertIn(" T for_gpus_backward_double_cuda", symbols)
            # JAX for CPUs brings no CUDA runtime.
            env = {**os.environ, "LD_LIBRARY_PATH": str(home / "lib")}
            test = [sys.executable, "-m", "unittest", "test_for_gpus"]
            subprocess.run(test, cwd=folder, env=env, check=True, capture_output=True)

    def test_what_is_refused_has_a_code(self):
        with self.assertRaises(cc.Refused) as caught:
            operator("__global__ void k(float* x) { goto end; end: x[0] = 1; }", "k", "tests::k", sizes={"x": "N"}, grid="1", block="1")
        self.assertEqual(caught.exception.code, "C0102")


if __name__ == "__main__":
    unittest.main()
