//! Enumerations of the CUDA runtime. In the IR they are numbers, which C++ does not convert back.

/// An enumeration of the runtime's interface.
#[derive(PartialEq, Eq, Debug)]
pub struct Enumeration {
    /// The type's name.
    pub name: &'static str,
    /// The names of its values that have one in the output; others are printed as converted numbers.
    pub enumerators: &'static [(i64, &'static str)],
}

pub const COPY_KIND: Enumeration = Enumeration {
    name: "cudaMemcpyKind",
    enumerators: &[
        (0, "cudaMemcpyHostToHost"),
        (1, "cudaMemcpyHostToDevice"),
        (2, "cudaMemcpyDeviceToHost"),
        (3, "cudaMemcpyDeviceToDevice"),
        (4, "cudaMemcpyDefault"),
    ],
};

pub(super) const ERROR: Enumeration = Enumeration { name: "cudaError_t", enumerators: &[(0, "cudaSuccess")] };

pub(super) const MEMORY_ADVICE: Enumeration = Enumeration {
    name: "cudaMemoryAdvise",
    enumerators: &[
        (1, "cudaMemAdviseSetReadMostly"),
        (2, "cudaMemAdviseUnsetReadMostly"),
        (3, "cudaMemAdviseSetPreferredLocation"),
        (4, "cudaMemAdviseUnsetPreferredLocation"),
        (5, "cudaMemAdviseSetAccessedBy"),
        (6, "cudaMemAdviseUnsetAccessedBy"),
    ],
};

pub(super) const DEVICE_ATTRIBUTE: Enumeration = Enumeration {
    name: "cudaDeviceAttr",
    enumerators: &[
        (1, "cudaDevAttrMaxThreadsPerBlock"),
        (8, "cudaDevAttrMaxSharedMemoryPerBlock"),
        (10, "cudaDevAttrWarpSize"),
        (16, "cudaDevAttrMultiProcessorCount"),
    ],
};

pub(super) const LIMIT: Enumeration = Enumeration {
    name: "cudaLimit",
    enumerators: &[(0, "cudaLimitStackSize"), (1, "cudaLimitPrintfFifoSize"), (2, "cudaLimitMallocHeapSize")],
};

pub(super) const CACHE: Enumeration = Enumeration {
    name: "cudaFuncCache",
    enumerators: &[
        (0, "cudaFuncCachePreferNone"),
        (1, "cudaFuncCachePreferShared"),
        (2, "cudaFuncCachePreferL1"),
        (3, "cudaFuncCachePreferEqual"),
    ],
};

pub(super) const BANKS: Enumeration = Enumeration {
    name: "cudaSharedMemConfig",
    enumerators: &[
        (0, "cudaSharedMemBankSizeDefault"),
        (1, "cudaSharedMemBankSizeFourByte"),
        (2, "cudaSharedMemBankSizeEightByte"),
    ],
};
