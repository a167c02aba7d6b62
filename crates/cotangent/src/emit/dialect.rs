//! What differs between the dialects of C++ that are printed, as data.

use crate::ir::GlobalStorage;

/// A dialect of the output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// CUDA C++, for nvcc and Clang.
    Cuda,
    /// Plain C++ against Cotangent's own headers, to run on a CPU.
    Cpu,
    /// As `Cpu`, for a part of a program: kernels are registered under their names for launches elsewhere, and device
    /// variables are those of the rest, which defines references to them.
    CpuPart,
    /// CUDA C++ of the device alone, for NVRTC, which has no header of the host.
    Nvrtc,
}

/// The spellings of one dialect.
pub(super) struct Spellings {
    /// Before a kernel's result type.
    pub(super) kernel: &'static str,
    /// Before a device function's result type.
    pub(super) device: &'static str,
    /// Before a prototype or definition on the host.
    pub(super) host: &'static str,
    /// Before a function that the linker knows by its own name.
    pub(super) c_linkage: &'static str,
    /// Whether kernels keep `__launch_bounds__`.
    pub(super) has_launch_bounds: bool,
    /// Before the alignment of a record, which follows in parentheses.
    pub(super) align: &'static str,
    /// Before a `__shared__` variable.
    pub(super) shared: &'static str,
    /// Behind the name of an array in shared memory, before the type of its elements in parentheses.
    pub(super) declared_alignment: Option<&'static str>,
    /// Around a pointer that is cast, so that a variable's alignment is not known behind the cast.
    pub(super) placed: Option<&'static str>,
    /// How the dynamic shared memory of a block is declared.
    pub(super) dynamic_shared: DynamicShared,
    /// How a thread knows where it is.
    pub(super) coordinates: Coordinates,
    /// How a kernel is launched.
    pub(super) launch: LaunchStyle,
    /// Before variables outside functions.
    pub(super) globals: [(GlobalStorage, &'static str); 5],
    /// Where the rest of the program is, if this is a part of one.
    pub(super) part: Option<Part>,
    /// The only headers that are included, if not all that are needed: whoever prints puts the texts of others first.
    pub(super) headers: Option<&'static [&'static str]>,
}

/// Before the name of a device variable: the label under which a part of a program expects a reference to it.
pub const VARIABLE_LABEL: &str = "cotangent.";

/// How a part of a program meets the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// The type whose objects register kernels.
    pub(super) kernel: &'static str,
}

/// How the dynamic shared memory of a block is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DynamicShared {
    /// `extern __shared__ T s[];`
    ExternArray,
    /// A reference to the buffer of the CPU runtime, as an array of all that fits.
    RuntimeBuffer,
}

/// How a thread knows where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Coordinates {
    /// Built-in variables.
    Variables,
    /// Fields of a parameter of this type, which comes first in every function that needs it.
    Parameter(&'static str),
}

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaunchStyle {
    /// `kernel<<<grid, block>>>(arguments)`.
    Chevrons,
    /// By a function that is printed after the kernel, which runs the threads in a plain loop (the first name) or, if
    /// they wait for each other, as coroutines (the second).
    Launcher { plain_loop: &'static str, coroutines: &'static str },
}

impl Spellings {
    /// What stands before a variable of that storage.
    pub(super) fn global(&self, storage: GlobalStorage) -> &'static str {
        let entry = self.globals.iter().find(|(known, _)| *known == storage);
        entry.expect("the table has every storage").1
    }
}

/// The table of a dialect.
pub(super) fn spellings(dialect: Dialect) -> &'static Spellings {
    match dialect {
        Dialect::Cuda => &CUDA,
        Dialect::Cpu => &CPU,
        Dialect::CpuPart => &CPU_PART,
        Dialect::Nvrtc => &NVRTC,
    }
}

const GLOBALS: [(GlobalStorage, &str); 5] = [
    (GlobalStorage::Device, "__device__ "),
    (GlobalStorage::Constant, "__constant__ "),
    (GlobalStorage::Managed, "__managed__ "),
    (GlobalStorage::Constexpr, "constexpr "),
    (GlobalStorage::Host, ""),
];

const CUDA: Spellings = Spellings {
    kernel: "__global__ ",
    device: "__device__ ",
    host: "",
    c_linkage: "extern \"C\" ",
    has_launch_bounds: true,
    align: "__align__",
    shared: "__shared__ ",
    declared_alignment: None,
    placed: None,
    dynamic_shared: DynamicShared::ExternArray,
    coordinates: Coordinates::Variables,
    launch: LaunchStyle::Chevrons,
    globals: GLOBALS,
    part: None,
    headers: None,
};

// `__shared__`, `__device__` and the like are macros of the CPU headers.
const CPU: Spellings = Spellings {
    kernel: "static inline ",
    device: "static inline ",
    host: "",
    // What is printed runs beside the program's own text.
    c_linkage: "",
    has_launch_bounds: false,
    align: "alignas",
    shared: "__shared__ ",
    declared_alignment: Some("COTANGENT_DECLARED_ALIGNMENT"),
    placed: Some("::cotangent::placed"),
    dynamic_shared: DynamicShared::RuntimeBuffer,
    coordinates: Coordinates::Parameter("const ::cotangent::Thread&"),
    launch: LaunchStyle::Launcher {
        plain_loop: "::cotangent::launch_loop",
        coroutines: "::cotangent::launch_coroutines",
    },
    globals: GLOBALS,
    part: None,
    headers: None,
};

// Half precision is in the toolkit's headers, for which NVRTC gets their folder.
const NVRTC: Spellings = Spellings { headers: Some(&["<cuda_fp16.h>", "<cuda_bf16.h>"]), ..CUDA };

const CPU_PART: Spellings = Spellings { part: Some(Part { kernel: "::cotangent::PrintedKernel" }), ..CPU };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_is_in_every_table() {
        for dialect in [Dialect::Cuda, Dialect::Cpu, Dialect::CpuPart, Dialect::Nvrtc] {
            for (storage, spelling) in GLOBALS {
                assert_eq!(spellings(dialect).global(storage), spelling);
            }
        }
    }
}
