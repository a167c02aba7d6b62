"""Operators beside PyTorch's own, and with tensors of all kinds. `cargo xtask torch` runs it; PyTorch is too large for the gate."""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import cotangent_cuda as cc
import torch
from cotangent_cuda.torch import operator, project

EXAMPLES = Path(__file__).parents[3] / "examples" / "operators"

SAMPLE = dict(
    sizes={"image": "B, C, H, W", "offset": "B, 2, H, W", "out": "B, C, H, W"},
    values={"batch": "B", "channels": "C", "height": "H", "width": "W"},
    grid="(B * C * H * W + 127) / 128",
    block="128",
)
NORM = dict(sizes={"x": "R, C", "weight": "C", "bias": "C", "y": "R, C"}, values={"columns": "C"}, grid="R", block="128")
SPLATS = dict(
    sizes={"centers": "S, 2", "scales": "S", "opacities": "S", "colours": "S, 3", "image": "height, width, 3"},
    values={"splats": "S"},
    grid="(width + 7) / 8, (height + 7) / 8",
    block="8, 8",
)

# In place, with an array of whole numbers, and a number that is an argument.
RELAX = """
template <class T> __global__ void relax(T* u, const int* index, const T* by, T* gone, T k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T old = u[i];
  for (int t = 0; t < 3; t++) u[i] += k * u[i] * by[index[i]];
  gone[i] = u[i] - old;
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

RELAX_STATED = dict(sizes={"u": "N", "index": "N", "by": "M", "gone": "N"}, values={"n": "N"}, grid="(N + 31) / 32", block="32")


# Two kernels and memory of its own; `both` works in the framework's stream.
SMOOTH = """
template <class T> __global__ void blur(const T* u, T* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) v[i] = T(0.25) * u[i - 1] + T(0.5) * u[i] * u[i] + T(0.25) * u[i + 1];
}
template <class T> __global__ void scale(const T* v, const T* k, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = k[0] * v[i];
}
template <class T> void smooth(const T* u, const T* k, T* out, int n) {
  T* v;
  cudaMalloc(&v, n * sizeof(T));
  cudaMemset(v, 0, n * sizeof(T));
  blur<T><<<(n + 127) / 128, 128>>>(u, v, n);
  scale<T><<<(n + 127) / 128, 128>>>(v, k, out, n);
  cudaFree(v);
}
template <class T> void both(const T* u, const T* k, T* v, T* out, int n, cudaStream_t stream) {
  blur<T><<<(n + 127) / 128, 128, 0, stream>>>(u, v, n);
  scale<T><<<(n + 127) / 128, 128, 0, stream>>>(v, k, out, n);
}
"""

# Arrays of vectors.
LENGTHS = """
__global__ void lengths(const float3* x, const double2* shift, float* y, float3* moved, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 p = x[i];
  p.x += shift[i].x, p.y += shift[i].y;
  y[i] = sqrtf(p.x * p.x + p.y * p.y + p.z * p.z);
  moved[i] = p;
}
"""

class Launch(ctypes.Structure):
    """As in `kernels.h` of an operator."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("waits", ctypes.c_bool),
    ]


def sampled_by_torch(image, offset):
    height, width = image.shape[2:]
    y, x = torch.meshgrid(torch.arange(height).to(image), torch.arange(width).to(image), indexing="ij")
    grid = torch.stack([(x + offset[:, 1]) / (width - 1), (y + offset[:, 0]) / (height - 1)], -1) * 2 - 1
    return torch.nn.functional.grid_sample(image, grid, align_corners=True, padding_mode="zeros")


class Sampling(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.sample = operator(EXAMPLES / "sample.cu", "sample<scalar_t>", "tests::sample", **SAMPLE)
        self.image, self.offset = torch.rand(2, 3, 5, 6), torch.randn(2, 2, 5, 6) * 0.5

    def close(self, ours, theirs):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)

    def test_it_is_pytorchs_own(self):
        ours = [tensor.clone().requires_grad_() for tensor in (self.image, self.offset)]
        theirs = [tensor.clone().requires_grad_() for tensor in (self.image, self.offset)]
        weights = torch.rand(2, 3, 5, 6)
        results = self.sample(*ours), sampled_by_torch(*theirs)
        self.close(*results)
        for result in results:
            (result * weights).sum().backward()
        for one, other in zip(ours, theirs):
            self.close(one.grad, other.grad)

    def test_tensors_of_all_kinds(self):
        expanded = torch.rand(1, 3, 5, 6).expand(2, 3, 5, 6).requires_grad_()
        permuted = torch.randn(2, 5, 6, 2).permute(0, 3, 1, 2)
        self.close(self.sample(expanded, permuted), sampled_by_torch(expanded, permuted))
        result = self.sample(self.image, self.offset)
        self.assertFalse(result.requires_grad)
        self.assertNotEqual(result.data_ptr(), self.image.data_ptr())
        empty = torch.rand(0, 3, 5, 6, requires_grad=True)
        self.sample(empty, torch.rand(0, 2, 5, 6)).sum().backward()
        self.assertEqual(empty.grad.shape, empty.shape)
        image = self.image.clone().requires_grad_()
        result = self.sample(image, self.offset)
        (spread,) = torch.autograd.grad(result, image, torch.ones(1).expand_as(result), retain_graph=True)
        (whole,) = torch.autograd.grad(result, image, torch.ones_like(result))
        self.close(spread, whole)

    def test_what_does_not_fit_is_an_error(self):
        image, offset = self.image, self.offset
        wrong = [
            ((image.half(), offset.half()), "takes float, double, and not Half"),
            ((image, offset.double()), "offset is of type Double"),
            ((image, offset[:, :1]), "is to have B, 2, H, W"),
            ((image[0], offset), "has 3 dimensions"),
        ]
        for inputs, message in wrong:
            with self.assertRaisesRegex(RuntimeError, message):
                self.sample(*inputs)

    def test_a_call_costs_little_more_than_a_launch(self):
        # The launch is the function that the operator calls, called with the same arguments.
        maps = Path("/proc/self/maps").read_text().splitlines()
        [path] = {line.split()[-1] for line in maps if "libsample_cpu.so" in line}
        launch = getattr(ctypes.CDLL(path), "_ZN16tests_sample_cpu13forward_floatERK6LaunchPKvS4_S4_iiii")
        tensors = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (self.image, self.offset, torch.zeros(2, 3, 5, 6))]
        given = (ctypes.byref(Launch((2, 1, 1), (128, 1, 1), 0, None, True)), *tensors, 2, 3, 5, 6)
        self.assertEqual(launch(*given), 0)
        with torch.no_grad():
            # In turn, since the machine may be busy.
            both = [(least(lambda: self.sample(self.image, self.offset)), least(lambda: launch(*given))) for _ in range(5)]
        of_operator, of_launch = (min(times) for times in zip(*both))
        print(f"\na call of the operator {of_operator * 1e6:.1f} us, of the launch alone {of_launch * 1e6:.1f} us")
        self.assertLess(of_operator - of_launch, 20e-6)


class InPlace(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.relax = operator(RELAX, "relax<scalar_t>", "tests::relax", **RELAX_STATED)
        self.u, self.by = (torch.rand(size, dtype=torch.double, requires_grad=True) for size in (5, 3))
        self.index = torch.tensor([0, 2, 1, 1, 2], dtype=torch.int)

    def test_the_input_stays_as_it_is(self):
        before = self.u.detach().clone()
        u, gone = self.relax(self.u, self.index, self.by, 0.3)
        self.assertTrue(torch.equal(self.u, before))
        by = self.by[self.index.long()]
        torch.testing.assert_close(u, before * (1 + 0.3 * by) ** 3)
        torch.testing.assert_close(gone, u - before)

    def test_its_gradients_are_those_of_differences(self):
        function = lambda u, by: self.relax(u, self.index, by, 0.3)  # noqa: E731
        self.assertTrue(torch.autograd.gradcheck(function, (self.u, self.by)))
        self.assertTrue(torch.autograd.gradgradcheck(function, (self.u, self.by)))
        torch.library.opcheck(self.relax, (self.u, self.index, self.by, 0.3))

    def test_a_kernel_for_floats_alone(self):
        program = RELAX.replace("template <class T> ", "").replace("T ", "float ").replace("T*", "float*")
        relax = operator(program, "relax", "tests::relax_float", **RELAX_STATED)
        u, by = self.u.detach().float().requires_grad_(), self.by.detach().float()
        relax(u, self.index, by, 0.3)[0].sum().backward()
        torch.testing.assert_close(u.grad, (1 + 0.3 * by[self.index.long()]) ** 3)
        with self.assertRaisesRegex(RuntimeError, "takes float, and not Double"):
            relax(self.u, self.index, self.by, 0.3)


class Types(unittest.TestCase):
    def test_an_array_of_one_type_takes_no_other(self):
        weigh = operator(WEIGH, "weigh<scalar_t>", "tests::weigh", **WEIGH_STATED)
        x, weights = torch.rand(7, dtype=torch.double, requires_grad=True), torch.rand(7, requires_grad=True)
        result = weigh(x, weights)
        torch.testing.assert_close(result, (weights * x.float() * x.float()).double())
        result.sum().backward()
        torch.testing.assert_close(x.grad, (2 * weights * x).double())
        torch.testing.assert_close(weights.grad, x.detach().float() ** 2)
        torch.library.opcheck(weigh, (x, weights))
        with self.assertRaisesRegex(RuntimeError, "weights is of type Double, and is to be of type Float"):
            weigh(x, weights.double())

    def test_vectors_are_a_last_size(self):
        sizes = {"x": "N, 3", "shift": "N, 2", "y": "N", "moved": "N, 3"}
        lengths = operator(LENGTHS, "lengths", "tests::lengths", sizes=sizes, values={"n": "N"}, grid="(N + 31) / 32", block="32")
        x, shift = torch.rand(7, 3, requires_grad=True), torch.rand(7, 2, dtype=torch.double, requires_grad=True)
        weights = torch.rand(7, 3)

        def expected(x, shift):
            p = x + torch.nn.functional.pad(shift.float(), (0, 1))
            return p.norm(dim=1), p

        gradients = []
        for function in (lengths, expected):
            y, moved = function(x, shift)
            (d_x, d_shift) = torch.autograd.grad((y**2).sum() + (moved * weights).sum(), (x, shift), create_graph=True)
            gradients.append((y, moved, d_x, d_shift, *torch.autograd.grad((d_x**3).sum() + (d_shift**2).sum(), (x, shift))))
        for one, other in zip(*gradients):
            # What the kernel computes is `float`, also for the shift.
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)

    def test_operators_for_half_precisions(self):
        weigh = operator(WEIGH, "weigh<scalar_t>", "tests::weigh_half", types=("half", "bfloat16"), **WEIGH_STATED)
        for half in (torch.float16, torch.bfloat16):
            x, weights = (torch.rand(7) + 0.5).to(half).requires_grad_(), torch.rand(7, requires_grad=True)
            result = weigh(x, weights)
            exact = x.detach().float()
            torch.testing.assert_close(result, (weights * exact * exact).to(half))
            result.sum().backward()
            torch.testing.assert_close(x.grad, (2 * weights * exact).to(half))
            torch.testing.assert_close(weights.grad, exact**2)
            with self.assertRaisesRegex(RuntimeError, "takes half, bfloat16, and not Float"):
                weigh(exact, weights)


class HostFunctions(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.u, self.k = torch.rand(300, dtype=torch.double, requires_grad=True), torch.rand(1, dtype=torch.double, requires_grad=True)
        self.stated = dict(sizes={"u": "N", "k": "1", "v": "N", "out": "N"}, values={"n": "N"})

    def expected(self, u, k):
        v = 0.25 * u[:-2] + 0.5 * u[1:-1] ** 2 + 0.25 * u[2:]
        return k * torch.nn.functional.pad(v, (1, 1))

    def test_one_that_allocates(self):
        del self.stated["sizes"]["v"]
        smooth = operator(SMOOTH, "smooth<scalar_t>", "tests::smooth", **self.stated)
        torch.testing.assert_close(smooth(self.u, self.k), self.expected(self.u, self.k))
        self.assertTrue(torch.autograd.gradcheck(smooth, (self.u, self.k)))
        torch.library.opcheck(smooth, (self.u, self.k))

    def test_one_that_only_launches_has_two_derivatives(self):
        both = operator(SMOOTH, "both<scalar_t>", "tests::both", **self.stated)
        v = torch.zeros(9, dtype=torch.double, requires_grad=True)
        u = self.u.detach()[:9].requires_grad_()
        torch.testing.assert_close(both(u, self.k, v)[1], self.expected(u, self.k))
        self.assertTrue(torch.autograd.gradcheck(both, (u, self.k, v)))
        self.assertTrue(torch.autograd.gradgradcheck(both, (u, self.k, v)))

    def test_a_workspace_may_be_a_result(self):
        both = operator(SMOOTH, "both<scalar_t>", "tests::both_of_two", outputs="v", **self.stated)
        u = self.u.detach()[:9].requires_grad_()
        torch.testing.assert_close(both(u, self.k)[1], self.expected(u, self.k))
        self.assertTrue(torch.autograd.gradcheck(both, (u, self.k)))
        self.assertTrue(torch.autograd.gradgradcheck(both, (u, self.k)))
        torch.library.opcheck(both, (u, self.k))

    def test_only_what_is_named_has_a_derivative(self):
        both = operator(SMOOTH, "both<scalar_t>", "tests::both_of_u", wrt="u, v, out", **self.stated)
        both(self.u, self.k, torch.zeros(300, dtype=torch.double))[1].sum().backward()
        expected = torch.autograd.grad(self.expected(self.u, self.k).sum(), self.u)[0]
        torch.testing.assert_close(self.u.grad, expected)
        self.assertIsNone(self.k.grad)


class Norm(unittest.TestCase):
    def test_under_autocast_sums_are_float(self):
        norm = operator(EXAMPLES / "layer_norm.cu", "layer_norm<scalar_t>", "tests::layer_norm", **NORM)
        torch.manual_seed(0)
        for half in (torch.float16, torch.bfloat16):
            inputs = [torch.randn(size).to(half).requires_grad_() for size in ((8, 300), 300, 300)]
            exact = [tensor.detach().double().requires_grad_() for tensor in inputs]
            with torch.autocast("cpu", dtype=half):
                result = norm(*inputs, 1e-5)
            weights = torch.randn(8, 300)
            (result * weights).sum().backward()
            (torch.nn.functional.layer_norm(exact[0], (300,), *exact[1:]) * weights.double()).sum().backward()
            for one, other in zip(inputs, exact):
                error = (one.grad.double() - other.grad).abs().max() / other.grad.abs().max()
                self.assertLess(error.item(), torch.finfo(half).eps)


class Project(unittest.TestCase):
    def builds_for_gpus(self, file, kernel, stated):
        nvidia = Path(os.environ["COTANGENT_TESTED_WITH"])
        home = next(nvidia.glob("lib/python*/site-packages/nvidia/cu13"))
        with tempfile.TemporaryDirectory() as folder:
            project(EXAMPLES / file, f"{kernel}<scalar_t>", "tests::for_gpus", folder, **stated)
            words = [sys.executable, "build.py", "--cuda", "80", "90", "--nvcc", str(home / "bin/nvcc"), "--cuda-home", str(home)]
            env = {**os.environ, "COTANGENT": str(Path(cc.__file__).parent / "bin/cotangent")}
            subprocess.run(words, cwd=folder, env=env, check=True)
            dump = [str(home / "bin/cuobjdump"), "--dump-elf-symbols", f"{folder}/libfor_gpus.so"]
            said = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
            for architecture in ("sm_80", "sm_90"):
                parts = [part for part in said.split("Fatbin elf code:") if f"arch = {architecture}" in part]
                self.assertTrue(any(f"{kernel}_float_grad" in part for part in parts), architecture)
            test = [sys.executable, "-m", "unittest", "test_for_gpus"]
            subprocess.run(test, cwd=folder, check=True, capture_output=True)

    def test_sampling_builds_for_gpus_too(self):
        self.builds_for_gpus("sample.cu", "sample", SAMPLE)

    def test_layer_norm_builds_for_gpus_too(self):
        self.builds_for_gpus("layer_norm.cu", "layer_norm", NORM)

    def test_splats_build_for_gpus_too(self):
        self.builds_for_gpus("splats.cu", "composite", SPLATS)

    def test_the_second_import_is_quick(self):
        operator(RELAX, "relax<scalar_t>", "tests::relax", **RELAX_STATED)
        script = "import time, torch\nstart = time.monotonic()\nfrom cotangent_cuda.torch import operator\n"
        script += f"operator({RELAX!r}, 'relax<scalar_t>', 'tests::relax', **{RELAX_STATED!r})\nprint(time.monotonic() - start)"
        seconds = min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(3))
        print(f"\nthe second import takes {seconds:.2f} s beyond torch")
        self.assertLess(seconds, 0.3)

    def test_what_is_refused_has_a_code(self):
        with self.assertRaises(cc.Refused) as caught:
            operator("__global__ void k(float* x) { goto end; end: x[0] = 1; }", "k", "tests::k", sizes={"x": "N"}, grid="1", block="1")
        self.assertEqual(caught.exception.code, "C0102")
        with self.assertRaisesRegex(cc.InvalidRequest, "the sizes of `index` are missing"):
            operator(RELAX, "relax<scalar_t>", "tests::relax", **{**RELAX_STATED, "sizes": {"u": "N"}})


def least(call):
    """Seconds of a call, the least of several means."""
    found = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            call()
        found.append((time.perf_counter() - start) / 200)
    return min(found)


if __name__ == "__main__":
    unittest.main()
