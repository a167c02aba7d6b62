def framework(has_cuda):
    """The source of the operator, and the flags, header folders and libraries that it is compiled with."""
    import torch

    root = Path(torch.__file__).parent
    flags = ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    folders = [root / "include", root / "include/torch/csrc/api/include"]
    of_cuda = ["-ltorch_cuda", "-lc10_cuda"] if has_cuda else []
    return "operator.cpp", flags, folders, [f"-L{root / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10", *of_cuda, f"-Wl,-rpath,{root / 'lib'}"]
