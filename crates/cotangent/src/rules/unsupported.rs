//! Functions of CUDA and of its libraries that are declared but have no rule here: what each is, and what to do instead.
//! A function of the runtime is in this table or in that of `runtime/table.rs`; what neither names is looked up by how its
//! name begins.

/// A function that is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// What it is, for `` `name` is …``.
    pub what: &'static str,
    /// The way out.
    pub instead: &'static str,
}

/// What is known about a function of that name, with its namespaces in front. None if it is not one of CUDA's.
pub fn unsupported(name: &str) -> Option<Unsupported> {
    let exact = UNSUPPORTED_RUNTIME.iter().find(|(known, _)| *known == name);
    let by_beginning = || FAMILIES.iter().find(|family| family.has(name)).map(|family| family.is);
    exact.map(|(_, instead)| Unsupported { what: OF_RUNTIME, instead }).or_else(by_beginning)
}

/// All names of the table, for tests and the manual.
pub(super) fn unsupported_runtime_functions() -> impl Iterator<Item = &'static str> {
    UNSUPPORTED_RUNTIME.iter().map(|(name, _)| *name)
}

const OF_RUNTIME: &str = "a function of the CUDA runtime that is not supported";

const BY_ARROWS: &str = "launch the kernel as kernel<<<grid, block, shared, stream>>>(arguments)";
const PINNED_OUTSIDE: &str =
    "pin the memory before the function that is differentiated is called, and unpin it afterwards";
const HOST_CODE: &str = "wait with cudaStreamSynchronize, and call the host function directly";
const UNIFIED: &str = "copy by cudaMemcpy or cudaMemcpyAsync with cudaMemcpyDefault, which finds the devices by itself";

const OCCUPANCY: &str =
    "ask outside of the function that is differentiated, and pass it the sizes of grid and block as parameters";
const ATTRIBUTES: &str = "ask outside of the function that is differentiated, and pass it what follows as a parameter";

/// Functions that `include/parse` declares, by name, with the way out.
const UNSUPPORTED_RUNTIME: &[(&str, &str)] = &[
    ("cudaHostRegister", PINNED_OUTSIDE),
    ("cudaHostUnregister", PINNED_OUTSIDE),
    (
        "cudaHostGetDevicePointer",
        "allocate the memory by cudaMallocManaged, which has one address, or copy it by cudaMemcpy",
    ),
    (
        "cudaPointerGetAttributes",
        "ask outside of the function that is differentiated, and pass it what follows as a parameter",
    ),
    ("cudaMemcpyPeer", UNIFIED),
    ("cudaMemcpyPeerAsync", UNIFIED),
    (
        "cudaGetSymbolAddress",
        "name the variable itself: in kernels, and in cudaMemcpyToSymbol and cudaMemcpyFromSymbol",
    ),
    ("cudaGetSymbolSize", "write sizeof of the variable"),
    ("cudaStreamAddCallback", HOST_CODE),
    ("cudaLaunchHostFunc", HOST_CODE),
    ("cudaLaunchKernel", BY_ARROWS),
    (
        "cudaLaunchCooperativeKernel",
        "launch one kernel for each part between two barriers of the whole grid, as kernel<<<grid, block>>>(arguments)",
    ),
    ("cudaFuncGetAttributes", ATTRIBUTES),
    ("cudaOccupancyMaxActiveBlocksPerMultiprocessor", OCCUPANCY),
    ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", OCCUPANCY),
    ("cudaOccupancyMaxPotentialBlockSize", OCCUPANCY),
    ("cudaOccupancyMaxPotentialBlockSizeWithFlags", OCCUPANCY),
    ("cudaOccupancyMaxPotentialBlockSizeVariableSMem", OCCUPANCY),
    ("cudaConfigureCall", BY_ARROWS),
    ("__cudaPushCallConfiguration", BY_ARROWS),
];

/// Functions whose names begin alike.
pub(super) struct Family {
    pub(super) beginning: &'static str,
    /// Whether a capital letter must follow: `cuInit` is the driver's, `cube` may be anybody's.
    then_capital: bool,
    pub(super) is: Unsupported,
}

impl Family {
    fn has(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.beginning);
        rest.is_some_and(|rest| !self.then_capital || rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
    }
}

const fn family(beginning: &'static str, what: &'static str, instead: &'static str) -> Family {
    Family { beginning, then_capital: true, is: Unsupported { what, instead } }
}

const fn namespace(beginning: &'static str, what: &'static str, instead: &'static str) -> Family {
    Family { beginning, then_capital: false, is: Unsupported { what, instead } }
}

/// The way out that every call has.
const SPLIT: &str = "differentiate the parts before and after the call by themselves, and call the derivative of this step between them";

/// By the beginning of the name; the first that fits is taken.
pub(super) const FAMILIES: &[Family] = &[
    family(
        "cudaGraph",
        "a function of CUDA's graphs, which are not read",
        "launch the kernels directly in what is differentiated, and capture the gradient's launches into a graph",
    ),
    family(
        "cudaStreamBeginCapture",
        "a function of CUDA's graphs, which are not read",
        "capture the gradient's launches into a graph, outside of what is differentiated",
    ),
    family(
        "cudaMemcpy3D",
        "a function of CUDA's three-dimensional copies, which are not supported",
        "copy slice by slice with cudaMemcpy2D",
    ),
    family(
        "cudaMalloc3D",
        "a function of CUDA's pitched memory, which is not supported",
        "allocate rows without padding by cudaMalloc",
    ),
    family(
        "cudaCreateTexture",
        "a function of CUDA's textures, which are not supported",
        "read the array itself, and interpolate in the kernel",
    ),
    family(
        "cudaIpc",
        "a function of memory that processes share, which is not supported",
        "open the memory outside of what is differentiated, and pass the pointer as a parameter",
    ),
    family(
        "cuda",
        OF_RUNTIME,
        "call it outside of what is differentiated, and pass what follows from it as a parameter",
    ),
    namespace(
        "thrust::",
        "a function of Thrust, whose insides are not read",
        "write the step as a kernel, such as a loop or a reduction in shared memory",
    ),
    namespace(
        "cub::",
        "a function of CUB, whose insides are not read",
        "write the step with __shfl_down_sync, shared memory or atomicAdd",
    ),
    namespace("cublas", "a function of cuBLAS, which is not supported", SPLIT),
    namespace("cufft", "a function of cuFFT, which is not supported", SPLIT),
    namespace("cusparse", "a function of cuSPARSE, which is not supported", SPLIT),
    namespace("cusolver", "a function of cuSOLVER, which is not supported", SPLIT),
    namespace("cudnn", "a function of cuDNN, which is not supported", SPLIT),
    namespace("cutensor", "a function of cuTENSOR, which is not supported", SPLIT),
    namespace(
        "curand",
        "a function of cuRAND, which is not supported",
        "make the random numbers before, and pass them as an array",
    ),
    namespace("nccl", "a function of NCCL, which is not supported", SPLIT),
    namespace("nvtx", "a function of NVTX, which is not read", "mark ranges outside of what is differentiated"),
    namespace(
        "nvml",
        "a function of NVML, which is not read",
        "ask outside of what is differentiated, and pass the answer as a parameter",
    ),
    family("nvrtc", "a function of NVRTC, which is not read", "compile outside of what is differentiated"),
    family(
        "cu",
        "a function of the CUDA driver, which is not read",
        "use the runtime's function of the same purpose, such as cudaMemcpy for cuMemcpy",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_names() {
        let what = |name: &str| unsupported(name).map_or("", |found| found.what);
        assert!(what("cublasSgemm_v2").contains("cuBLAS"));
        assert!(what("thrust::reduce").contains("Thrust"));
        assert!(what("cub::DeviceReduce::Sum").contains("CUB"));
        assert!(what("cuMemcpyHtoD").contains("driver"));
        assert!(what("cudaGraphLaunch").contains("graphs"));
        assert!(what("cudaFutureFunction").contains("runtime"));
        for name in ["cube", "current", "curve", "cutoff", "subtract", "cub", "cudaless", "reduce"] {
            assert_eq!(what(name), "", "{name}");
        }
    }
}
