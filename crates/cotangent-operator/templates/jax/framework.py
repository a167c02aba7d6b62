def framework(has_cuda):
    """The source of the operator, and the flags, header folders and libraries that it is compiled with."""
    import jax.ffi

    return "handlers.cpp", ["-std=c++17"], [jax.ffi.include_dir()], []
