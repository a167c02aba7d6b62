//! Compiles the kernel and its gradient.

use cotangent_build::{Gradient, Kernels};

fn main() {
    let kernels = Kernels::in_file("src/peaks.cu").kernel("peaks").gradient(Gradient::of("peaks").wrt("peak, y"));
    let is_for_gpus = std::env::var_os("CARGO_FEATURE_CUDA").is_some();
    let kernels = if is_for_gpus { kernels.ptx() } else { kernels };
    kernels.write("peaks.rs").unwrap_or_else(|error| error.exit());
}
