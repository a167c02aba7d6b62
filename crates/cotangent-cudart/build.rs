//! Gives the shared library the name under which programs look for CUDA's runtime, and its symbols the version that programs
//! linked against NVIDIA's own library ask for, which is that name too.

fn main() {
    // Only GNU's linker can take the version from the name. Others want a script, which they do not join with rustc's.
    for argument in ["-fuse-ld=bfd", "-Wl,-soname,libcudart.so.13", "-Wl,--default-symver"] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
