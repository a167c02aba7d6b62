"""Builds the operator @SPACE@::@NAME@: `python build.py`, or `python build.py --cuda 80 90` for GPUs of these architectures too."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = [@KERNEL_FILES@]


def run(words, folder=HERE):
    words = [str(word) for word in words]
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stderr or done.stdout}")
    return done.stdout.strip()


def command():
    """Cotangent: the command on the path, or that of the Python package."""
    found = os.environ.get("COTANGENT") or shutil.which("cotangent") or shutil.which("cotangent-cuda")
    if not found:
        sys.exit("cotangent is not on the path; install it, or name it: COTANGENT=/path/to/cotangent")
    return found


def for_cpu(cotangent):
    run([cotangent, "build", *KERNELS, "--shared", "-o", "lib@NAME@_cpu.so", "--", "-DKERNELS=@SPACE@_@NAME@_cpu", "-fvisibility=hidden"])


def for_cuda(cotangent, architectures, nvcc):
    include = run([cotangent, "where", "include"])
    codes = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in architectures]
    flags = ["-O3", "-std=c++17", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-I", include, "-DKERNELS=@SPACE@_@NAME@_cuda", *codes]
    for file in KERNELS:
        run([nvcc, *flags, "-c", file, "-o", f"{file}.o"])
    return [f"{file}.o" for file in KERNELS]


@FRAMEWORK@


def operator(objects, cuda_home):
    source, flags, folders, libraries = framework(bool(objects))
    flags = ["-O2", "-fPIC", "-fvisibility=hidden", *flags]
    if objects:
        flags += ["-DWITH_CUDA"]
        folders = [*folders, Path(cuda_home, "include")]
        libraries = [*libraries, f"-L{Path(cuda_home, 'lib')}", f"-L{Path(cuda_home, 'lib64')}", "-l:libcudart.so.@CUDA@"]
    libraries = [*libraries, "-L.", "-l:lib@NAME@_cpu.so", "-Wl,-rpath,$ORIGIN"]
    includes = [word for folder in folders for word in ("-isystem", folder)]
    compiler = os.environ.get("CXX", "c++")
    run([compiler, *flags, *includes, "-shared", "-o", "lib@NAME@.so.made", source, *objects, *libraries])
    os.replace(HERE / "lib@NAME@.so.made", HERE / "lib@NAME@.so")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", nargs="+", metavar="ARCHITECTURE", default=[], help="also for GPUs: 80 90")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "nvcc")
    parser.add_argument("--cuda-home", default=os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    options = parser.parse_args()
    cotangent = command()
    for_cpu(cotangent)
    objects = for_cuda(cotangent, options.cuda, options.nvcc) if options.cuda else []
    operator(objects, options.cuda_home)


if __name__ == "__main__":
    main()
