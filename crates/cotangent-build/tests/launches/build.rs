//! Makes a launch of each kernel and of its gradient.

use cotangent_build::{Gradient, Kernels};

fn main() {
    let names =
        ["decay", "powers", "smooth", "pile", "twist<double>", "turn", "words", "halves", "pull", "rows", "load"];
    let all = Kernels::in_file("src/kernels.cu");
    let all = names.into_iter().fold(all, |all, name| all.kernel(name).gradient(Gradient::of(name)));
    all.ptx().write("kernels.rs").unwrap_or_else(|error| error.exit());
}
