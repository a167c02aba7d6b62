//! Derivatives of CUDA kernels in Rust programs.
//!
//! [`Program`] is the compiler as a library: it gives the derivative of a function of a `.cu` file, or of a text, as CUDA.
//!
//! ```
//! use cotangent_build::{Error, Gradient, Program};
//!
//! let program = Program::from_text(
//!     "__global__ void square(const float* x, float* y, int n) {
//!        int i = blockIdx.x * blockDim.x + threadIdx.x;
//!        if (i < n) y[i] = x[i] * x[i];
//!      }",
//! );
//! let derivative = program.gradient(&Gradient::of("square").wrt("x, y").pure())?;
//! assert!(derivative.text.contains("void square_vjp("));
//!
//! // What cannot be differentiated right is refused, with a code, a place and a way out.
//! let refused = Program::from_text("__global__ void k(float* x) { goto end; end: x[0] = 1; }").gradient(&"k".into());
//! assert_eq!(refused.unwrap_err().code(), Some("C0102"));
//! # Ok::<(), Error>(())
//! ```
//!
//! [`Kernels`] is for build scripts. From a `.cu` file it makes a module of typed launches: of kernels and their gradients, on the CPU by
//! the crate `cotangent-cpu`, and on GPUs through `cudarc`.
//!
//! ```no_run
//! // build.rs
//! use cotangent_build::{Gradient, Kernels};
//!
//! fn main() {
//!     Kernels::in_file("src/square.cu")
//!         .kernel("square")
//!         .gradient(Gradient::of("square").wrt("x, y"))
//!         .ptx()
//!         .write("square.rs")
//!         .unwrap_or_else(|error| error.exit());
//! }
//! ```
//!
//! ```ignore
//! // src/main.rs
//! mod square {
//!     include!(concat!(env!("OUT_DIR"), "/square.rs"));
//! }
//! use square::cpu::Launch;
//!
//! let (x, mut y, mut d_x) = ([1.0, 2.0, 3.0], [0.0; 3], [0.0; 3]);
//! // SAFETY: the kernel accesses `n` elements of each array, and there are 3.
//! unsafe { square::cpu::square_grad(Launch::new(1, 32), &x, &mut y, 3, &mut d_x, &[1.0; 3]) }?;
//! assert_eq!(d_x, [2.0, 4.0, 6.0]);
//! ```
//!
//! The program needs neither Clang nor Cotangent's compiler when it runs, and no CUDA toolkit: the kernels are part of it.
//! Clang 19 must be there when it is built, and nvcc for what runs on GPUs.

mod cpu;
mod cuda;
mod error;
mod formula;
mod gradient;
mod kernels;
mod module;
mod names;
mod plan;
mod program;
mod structs;
mod types;

pub use error::{Error, Finding};
pub use gradient::Gradient;
pub use kernels::Kernels;
pub use program::{Derivative, Metadata, Program};
