"""Kernels and host functions called on NumPy arrays, compared with what NumPy computes."""

import glob
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import cotangent_cuda as cc
import numpy as np

NORM = """
// A row of each block; dynamic shared memory for the sums.
template <class T>
__global__ void norm(const T* x, const T* weight, T* y, int columns, T eps) {
  extern __shared__ unsigned char bytes[];
  T* sums = reinterpret_cast<T*>(bytes);
  const T* row = x + blockIdx.x * columns;
  T mine = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += row[i] * row[i];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  T scale = rsqrt(sums[0] / columns + eps);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[blockIdx.x * columns + i] = row[i] * scale * weight[i];
}
"""

STEP = """
__global__ void step(double* u, double k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] += k * u[i] * u[i];
}
struct Times { int count; int unused; };
int evolve(const double* start, double* end, double k, int n, Times times) {
  double* u;
  cudaMalloc(&u, n * sizeof(double));
  cudaMemcpy(u, start, n * sizeof(double), cudaMemcpyHostToDevice);
  for (int t = 0; t < times.count; t++) step<<<(n + 31) / 32, 32>>>(u, k, n);
  cudaMemcpy(end, u, n * sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(u);
  return times.count;
}
"""


def normed(x: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", weight: "np.ndarray[tuple[int], np.dtype[np.float64]]", eps: float) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
    result: "np.ndarray[tuple[int, int], np.dtype[np.float64]]" = x * scale * weight
    return result


class Kernels(unittest.TestCase):
    def setUp(self) -> None:
        random = np.random.default_rng(0)
        self.x, self.weight, self.dy = random.random((3, 5)), random.random(5), random.random((3, 5))

    def test_a_launch_writes_into_arrays(self) -> None:
        y = np.zeros_like(self.x)
        kernel = cc.Kernel(NORM, "norm<double>")
        kernel(self.x, self.weight, y, 5, 1e-3, grid=3, block=4, shared=4 * 8)
        np.testing.assert_allclose(y, normed(self.x, self.weight, 1e-3), rtol=1e-12)
        as_float = [np.float32(array) for array in (self.x, self.weight)]
        y32 = np.zeros((3, 5), np.float32)
        cc.Kernel(NORM, "norm<float>")(*as_float, y32, 5, 1e-3, grid=(3, 1), block=(4, 1, 1), shared=16)
        np.testing.assert_allclose(y32, normed(self.x, self.weight, 1e-3), rtol=1e-5)

    def test_its_gradient_is_that_of_differences(self) -> None:
        gradient = cc.Kernel(NORM, "norm<double>").grad("x, weight, y, eps")
        self.assertEqual(gradient.cotangents, ["y"])
        y = np.full_like(self.x, 7)
        found = gradient(self.x, self.weight, y, 5, 1e-3, grid=3, block=4, shared=4 * 8, cotangents={"y": self.dy})
        self.assertTrue((y == 7).all(), "arguments stay as they are")
        self.assertEqual(list(found), ["x", "weight", "eps"])
        h = 1e-6

        def along(x: object, weight: object, eps: float) -> float:
            moved = [normed(self.x + s * h * np.asarray(x), self.weight + s * h * np.asarray(weight), 1e-3 + s * h * eps) for s in (1, -1)]
            return float(((moved[0] - moved[1]) / (2 * h) * self.dy).sum())

        random = np.random.default_rng(1)
        for _ in range(3):
            x, weight, eps = random.random((3, 5)), random.random(5), float(random.random())
            ours = (found["x"] * x).sum() + (found["weight"] * weight).sum() + float(found["eps"]) * eps
            self.assertAlmostEqual(ours, along(x, weight, eps), delta=1e-7 * abs(ours))

    def test_a_host_function_and_its_gradient(self) -> None:
        function = cc.Function(STEP, "evolve")
        start, end = self.x.ravel(), np.zeros(15)
        times = np.array([4, 0], np.int32)
        self.assertEqual(function(start, end, 0.1, 15, times), 4)
        expected = start.copy()
        slope = np.ones(15)
        for _ in range(4):
            slope *= 1 + 0.2 * expected
            expected += 0.1 * expected**2
        np.testing.assert_allclose(end, expected, rtol=1e-12)
        gradient = function.grad("start, end")
        found = gradient(start, end, 0.1, 15, times, cotangents={"end": np.ones(15)})
        np.testing.assert_allclose(found["start"], slope, rtol=1e-12)

    def test_in_place_the_cotangent_is_of_what_is_left(self) -> None:
        gradient = cc.Kernel(STEP, "step").grad("u")
        u = self.x.ravel()
        before = u.copy()
        found = gradient(u, 0.1, 15, grid=1, block=32, cotangents={"u": self.dy.ravel()})
        np.testing.assert_array_equal(u, before)
        np.testing.assert_allclose(found["u"], self.dy.ravel() * (1 + 0.2 * u), rtol=1e-12)

    def test_what_does_not_fit_is_an_error(self) -> None:
        kernel = cc.Kernel(STEP, "step")
        u = np.ones(4)
        launch = {"grid": 1, "block": 4}
        kernel(u, np.float32(0.5), True, **launch)
        kernel(u, 1, 0, **launch)
        for wrong in [(u, 1.0), (u.astype(np.float32), 1.0, 4), ([1.0], 1.0, 4), (u, "1", 4), (u, 1.0, 2.5), (u, 1j, 4)]:
            with self.assertRaises(TypeError, msg=repr(wrong)):
                kernel(*wrong, **launch)
        with self.assertRaises(OverflowError):
            kernel(u, 1.0, 1 << 40, **launch)
        with self.assertRaises(ValueError):
            kernel(np.ones((4, 4))[:, 0], 1.0, 4, **launch)
        u.flags.writeable = False
        with self.assertRaises(ValueError):
            kernel(u, 1.0, 4, **launch)
        with self.assertRaises(ValueError):
            kernel(u.copy(), 1.0, 4, grid=(1, 1, 1, 1), block=4)
        with self.assertRaises(cc.LaunchError) as caught:
            kernel(u.copy(), 1.0, 4, grid=1, block=2048)
        self.assertIn("configuration", str(caught.exception))
        kernel(u.copy(), 1.0, 4, **launch)
        with self.assertRaises(cc.LaunchError):
            kernel(u.copy(), 1.0, 4, grid=0, block=4)

    def test_exceptions_of_the_program_arrive(self) -> None:
        program = '#include <stdexcept>\nvoid f(int n) { if (n > 1) throw std::out_of_range("too many"); }\n'
        function = cc.Function(program, "f")
        self.assertIsNone(function(1))
        with self.assertRaises(cc.LaunchError) as caught:
            function(2)
        self.assertEqual(str(caught.exception), "too many")

    def test_nvidias_own_runtime_may_be_loaded_too(self) -> None:
        found = glob.glob(os.path.join(os.environ["COTANGENT_TESTED_WITH"], "**", "libcudart.so.*"), recursive=True)
        script = f"import ctypes\nctypes.CDLL({found[0]!r}, mode=ctypes.RTLD_GLOBAL)\nimport cotangent_cuda as cc, numpy as np\n"
        script += f"cc.Function({STEP!r}, 'evolve')(np.ones(4), end := np.zeros(4), 1.0, 4, np.array([1, 0], np.int32))\nprint(end[0])"
        self.assertEqual(subprocess.check_output([sys.executable, "-c", script]), b"2.0\n")

    def test_types_of_all_kinds(self) -> None:
        program = """
        #include <cuda_fp16.h>
        struct Pair { float a, b; };
        __global__ void mix(const __half* h, unsigned char* c, float3* v, Pair p, bool flip, const int* none, long long n) {
          int i = threadIdx.x;
          if (i >= n) return;
          v[i].y = __half2float(h[i]) * p.a + p.b;
          c[i] = flip ? 255 - c[i] : c[i];
          if (none) v[i].x = none[0];
        }
        """
        kernel = cc.Kernel(program, "mix")
        h, c, v = np.arange(3, dtype=np.float16), np.arange(3, dtype=np.uint8), np.zeros((3, 3), np.float32)
        kernel(h, c, v, np.array([2, 1], np.float32), True, None, 3, grid=1, block=4)
        np.testing.assert_array_equal(v[:, 1], [1, 3, 5])
        np.testing.assert_array_equal(c, [255, 254, 253])

    def test_which_of_several_is_meant_can_be_said(self) -> None:
        program = "__global__ void k(float* x) { x[0] = 1; }\n__global__ void k(double* x) { x[0] = 2; }\n"
        x = np.zeros(1)
        cc.Kernel(program, "k(double*)")(x, grid=1, block=1)
        self.assertEqual(x[0], 2)
        with self.assertRaises(cc.CotangentError):
            cc.Kernel(program, "k")
        with self.assertRaises(cc.CotangentError) as caught:
            cc.Kernel("__global__ void k(float* x) { missing(); }\n", "k")
        self.assertIn("program.cu:1:31", str(caught.exception))


class Cache(unittest.TestCase):
    def test_what_changed_is_compiled_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "by.h").write_text("#define BY 2\n")
            file = Path(folder, "k.cu")
            file.write_text('#include "by.h"\n__global__ void k(float* x) { x[0] *= BY; }\n')

            def of(gradient: bool) -> float:
                kernel = cc.Kernel(file, "k")
                x = np.ones(1, np.float32)
                if gradient:
                    return float(kernel.grad("x")(x, grid=1, block=1, cotangents={"x": x})["x"][0])
                kernel(x, grid=1, block=1)
                return float(x[0])

            self.assertEqual((of(False), of(True)), (2, 2))
            Path(folder, "by.h").write_text("#define BY 3\n")
            self.assertEqual((of(False), of(True)), (3, 3))
            start = time.monotonic()
            self.assertEqual((of(False), of(True)), (3, 3))
            self.assertLess(time.monotonic() - start, 0.3, "nothing is compiled")

    def test_processes_at_once_share_it(self) -> None:
        script = "import cotangent_cuda as cc, numpy as np\nx = np.ones(1, np.float32)\n"
        script += "cc.Kernel('__global__ void k(float* x) { x[0] = 5; }', 'k')(x, grid=1, block=1)\nprint(x[0])"
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "COTANGENT_CACHE": cache}
            start = [subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE) for _ in range(3)]
            self.assertEqual([one.communicate()[0] for one in start], [b"5.0\n"] * 3)


if __name__ == "__main__":
    unittest.main()
