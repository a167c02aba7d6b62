//! The command lines of `cotangent torch` and `cotangent jax`.

use std::path::PathBuf;

use clap::Args;

use super::Reading;

/// Examples of `cotangent torch`.
pub(super) const TORCH: &str = "\
Example:
  cotangent torch sample.cu --fn 'sample<scalar_t>' --name mine::sample -o sample_operator \\
    --size 'image=B, C, H, W' --size 'offset=B, 2, H, W' --size 'out=B, C, H, W' \\
    --value batch=B --value channels=C --value height=H --value width=W \\
    --grid '(B * C * H * W + 127) / 128' --block 128
  python sample_operator/build.py && python -m unittest discover sample_operator

The page docs/pytorch.md has more.";

/// Examples of `cotangent jax`.
pub(super) const JAX: &str = "\
Example:
  cotangent jax sample.cu --fn 'sample<scalar_t>' --name mine::sample -o sample_operator \\
    --size 'image=B, C, H, W' --size 'offset=B, 2, H, W' --size 'out=B, C, H, W' \\
    --value batch=B --value channels=C --value height=H --value width=W \\
    --grid '(B * C * H * W + 127) / 128' --block 128
  python sample_operator/build.py && python -m unittest discover sample_operator

The page docs/jax.md has more.";

/// A kernel as an operator: how it is launched, and on what.
#[derive(Debug, Args)]
pub(crate) struct Operator {
    /// The CUDA file, or `-` for standard input
    pub(crate) file: PathBuf,

    /// The kernel, or a function of the host that launches kernels: `name`, `space::name`, or an instantiation; `scalar_t` in it
    /// stands for the type of data
    #[arg(long = "fn", value_name = "NAME")]
    pub(crate) function: String,

    /// The operator's name: a library of operators, and its own
    #[arg(long, value_name = "LIBRARY::NAME")]
    pub(crate) name: String,

    /// The sizes of an array, once for each: `image=B, C, H, W`. A name by itself is what the array has there; other
    /// sizes are computed of names
    #[arg(long = "size", value_name = "ARRAY=SIZES")]
    pub(crate) sizes: Vec<String>,

    /// The value of a number, computed of sizes: `width=W`. A number without one is an argument of the operator
    #[arg(long = "value", value_name = "NUMBER=VALUE")]
    pub(crate) values: Vec<String>,

    /// Inputs and results that have derivatives, separated by commas [default: all arrays with floating values]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) wrt: Option<Vec<String>>,

    /// Arrays that are results, separated by commas: they begin with zeros, though the function reads what it has stored there, as in a
    /// workspace. What is only stored to is a result without being named
    #[arg(long = "out", value_name = "ARRAYS", value_delimiter = ',')]
    pub(crate) outputs: Vec<String>,

    /// Blocks of a kernel's launch: one to three sizes with commas between them. A function of the host launches by itself
    #[arg(long, value_name = "SIZES", requires = "block")]
    pub(crate) grid: Option<String>,

    /// Threads of a block: one to three sizes
    #[arg(long, value_name = "SIZES", requires = "grid")]
    pub(crate) block: Option<String>,

    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "SIZE", requires = "grid", default_value = "0")]
    pub(crate) shared: String,

    /// The types of data that `scalar_t` stands for: float, double, half, bfloat16 [default: float,double]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) types: Vec<String>,

    /// The folder that the project is written into
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: PathBuf,

    /// Print what is refused as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl Operator {
    /// What has derivatives, if it is stated.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        self.wrt.as_deref().map(super::trimmed)
    }
}
