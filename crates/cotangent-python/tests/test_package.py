"""The package as installed: what its functions give, and what they raise."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import cotangent_cuda as cc
import numpy as np
from cotangent_cuda import _command

SQUARE = """
__global__ void square(const float* x, float* y, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = by * x[i] * x[i];
}
"""

MAIN = """
#include <cstdio>
int main(int count, char** words) {
  float *x, *y, host[2] = {3, 4};
  cudaMalloc(&x, 8), cudaMalloc(&y, 8);
  cudaMemcpy(x, host, 8, cudaMemcpyHostToDevice);
  square<<<1, 2>>>(x, y, 1, 2);
  cudaMemcpy(host, y, 8, cudaMemcpyDeviceToHost);
  std::printf("%g %g %d\\n", host[0], host[1], count - 1);
  return 5;
}
"""


class Grad(unittest.TestCase):
    def test_a_gradient_is_text_with_metadata(self) -> None:
        made = cc.grad(SQUARE, "square", "x, y")
        self.assertIn("__global__ void square_grad_0_1(", made.text)
        self.assertEqual(str(made), made.text)
        self.assertEqual([adjoint["of"] for adjoint in made.metadata["adjoints"]], ["x", "y"])
        self.assertEqual(made.text, cc.grad(SQUARE, "square", ["x", "y"]).text)

    def test_options_arrive(self) -> None:
        pure = cc.grad(SQUARE, "square", "x, y", pure=True, target="nvrtc")
        self.assertNotIn("#include", pure.text)
        self.assertEqual({adjoint["before"] for adjoint in pure.metadata["adjoints"]}, {"zero", "cotangent"})
        self.assertIn("square_pushforward(", cc.grad(SQUARE, "square", mode="forward").text)
        self.assertIn("square_reverse(", cc.grad(SQUARE, "square", split=True).text)
        with_flag = SQUARE.replace("float by", "float by, REAL extra")
        self.assertIn("double extra", cc.grad(with_flag, "square", "x, y", flags=["-DREAL=double"]).text)
        with self.assertRaises(cc.InvalidRequest):
            cc.grad(SQUARE, "square", mode="backward")
        with self.assertRaises(ValueError):
            cc.grad(SQUARE, "square", record_budget="much")

    def test_a_file_is_read_with_its_headers(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "square.h").write_text(SQUARE)
            file = Path(folder, "square.cu")
            file.write_text('#include "square.h"\n')
            self.assertIn("square_grad(", cc.grad(file, "square").text)
            made = cc.grad(str(file), "square")
            made.save(Path(folder, "out.cu"))
            self.assertEqual(Path(folder, "out.cu").read_text(), made.text)

    def test_notebooks_show_it_highlighted(self) -> None:
        shown = cc.grad(SQUARE, "square")._repr_html_()
        self.assertIn("<span style=", shown)
        self.assertIn("square_grad", shown)

    def test_what_is_refused_has_a_place(self) -> None:
        jumps = "__global__ void k(float* x) {\n  float a = 1;\n  goto end; end: x[0] = a;\n}\n"
        with self.assertRaises(cc.Refused) as caught:
            cc.grad(jumps, "k")
        error = caught.exception
        self.assertEqual((error.code, error.file, error.line, error.column), ("C0102", "program.cu", 3, 3))
        self.assertIn("--> program.cu:3:3", str(error))
        self.assertEqual(error.help, "use a loop with `break` or `continue`")
        self.assertEqual(error.first.message, "`goto` is not supported")

    def test_what_clang_rejects_is_its_to_tell(self) -> None:
        with self.assertRaises(cc.ProgramError) as caught:
            cc.grad("__global__ void k(float* x) {\n  y = 1; }", "k")
        self.assertIn("program.cu:2:3: error: use of undeclared identifier 'y'", str(caught.exception))
        with self.assertRaises(cc.CotangentError) as caught_missing:
            cc.grad("missing.cu", "k")
        self.assertIn("missing.cu", str(caught_missing.exception))
        with self.assertRaises(cc.InvalidRequest):
            cc.grad(SQUARE, "square", flags=["--unknown-flag"])

    def test_without_clang_the_package_is_named(self) -> None:
        script = "import cotangent_cuda as cc\ntry: cc.grad('__global__ void k(float* x) {}', 'k')\nexcept cc.ToolMissing as e: print(e)"
        env = {**os.environ, "PATH": "/nowhere"}
        env.pop("COTANGENT_CLANG", None)
        said = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
        self.assertIn("apt", said)
        self.assertIn("clang-19", said)


class Check(unittest.TestCase):
    def test_a_right_derivative_is_reported(self) -> None:
        report = cc.check(SQUARE, "square", "x, y", args="in<float>(8), out<float>(8), 2.0f, 8", launch="1x8")
        self.assertTrue(report.ok)
        self.assertTrue(report.comparisons and all(line.ok for line in report.comparisons))
        self.assertEqual((report.data["wrt"], report.data["block"]), (["x", "y"], [8, 1, 1]))
        self.assertIn("square: right", str(report))

    def test_a_rule_that_is_wrong_is_found(self) -> None:
        wrong = "#include <cotangent/rules.hpp>\n__device__ float f(float x) { return x * x; }\n"
        wrong += "__device__ void f_back(float x, float seed, float* _d_x) { *_d_x += x * seed; }\n"
        wrong += "COTANGENT_PULLBACK(f, f_back);\n"
        wrong += "__global__ void k(const float* x, float* y) { y[threadIdx.x] = f(x[threadIdx.x]); }\n"
        report = cc.check(wrong, "k", args="in<float>(4), out<float>(4)", launch="1x4")
        self.assertFalse(report.ok)
        self.assertIn("WRONG", str(report))

    def test_what_is_refused_is_raised(self) -> None:
        with self.assertRaises(cc.Refused) as caught:
            cc.check("__global__ void k(float* x) { goto end; end: x[0] = 1; }", "k")
        self.assertEqual((caught.exception.code, caught.exception.file, caught.exception.line), ("C0102", "program.cu", 1))
        with self.assertRaises(cc.InvalidRequest):
            cc.check(SQUARE, "square", launch="many")


class Run(unittest.TestCase):
    def test_a_program_runs(self) -> None:
        finished = cc.run(SQUARE + MAIN, ["a", "b"], check=True)
        self.assertEqual((finished.stdout, finished.returncode), ("9 16 2\n", 5), finished.stderr)
        broken = cc.run("int main() { return missing; }\n")
        self.assertEqual(broken.returncode, 1)
        self.assertIn("program.cu:1:21: error:", broken.stderr)

    def test_the_command_is_inside(self) -> None:
        command = Path(sys.prefix, "bin", "cotangent-cuda")
        said = subprocess.run([command, "doctor"], capture_output=True, text=True, check=False).stdout
        self.assertIn("clang", said.lower())
        nowhere = mock.patch.object(_command, "COMMAND", Path("/nowhere/cotangent"))
        with nowhere, self.assertRaises(cc.ToolMissing):
            cc.run(SQUARE + MAIN)


class Names(unittest.TestCase):
    def test_both_projects_are_installed_side_by_side(self) -> None:
        import cotangent  # type: ignore[import-not-found,import-untyped,unused-ignore]

        other: Any = cotangent
        self.assertTrue(hasattr(other, "tensor"), "the other project's own")
        self.assertNotEqual(Path(other.__file__).parent, Path(cc.__file__).parent)
        self.assertEqual(float(np.float32(2)), 2.0)


if __name__ == "__main__":
    unittest.main()
