//! Enumerations of the CUDA runtime. In the IR they are numbers, which C++ does not convert back.

/// An enumeration of the runtime's interface.
pub(super) struct Enumeration {
    /// The type's name.
    pub(super) name: &'static str,
    /// The names of its values that have one in the output; others are printed as converted numbers.
    pub(super) enumerators: &'static [(i64, &'static str)],
}

/// The enumeration that a call takes at a position, if it takes one there.
pub(super) fn enumeration(call: &str, position: usize) -> Option<&'static Enumeration> {
    PARAMETERS
        .iter()
        .find(|(name, parameter, _)| *name == call && *parameter == position)
        .map(|(_, _, enumeration)| *enumeration)
}

const PARAMETERS: &[(&str, usize, &Enumeration)] = &[
    ("cudaMemcpy", 3, &COPY_KIND),
    ("cudaMemcpyAsync", 3, &COPY_KIND),
    ("cudaMemcpy2D", 6, &COPY_KIND),
    ("cudaMemcpy2DAsync", 6, &COPY_KIND),
    ("cudaMemcpyToSymbol", 4, &COPY_KIND),
    ("cudaMemcpyToSymbolAsync", 4, &COPY_KIND),
    ("cudaMemcpyFromSymbol", 4, &COPY_KIND),
    ("cudaMemcpyFromSymbolAsync", 4, &COPY_KIND),
    ("cotangent::add_copied", 3, &COPY_KIND),
    ("cotangent::add_copied_rows", 6, &COPY_KIND),
    ("cotangent::add_copied_at_once", 3, &COPY_KIND),
    ("cotangent::add_copied_rows_at_once", 6, &COPY_KIND),
    ("cudaGetErrorName", 0, &ERROR),
    ("cudaGetErrorString", 0, &ERROR),
    ("cudaMemAdvise", 2, &MEMORY_ADVICE),
    ("cudaDeviceGetAttribute", 1, &DEVICE_ATTRIBUTE),
    ("cudaDeviceSetLimit", 0, &LIMIT),
    ("cudaDeviceGetLimit", 1, &LIMIT),
    ("cudaDeviceSetCacheConfig", 0, &CACHE),
];

const COPY_KIND: Enumeration = Enumeration {
    name: "cudaMemcpyKind",
    enumerators: &[
        (0, "cudaMemcpyHostToHost"),
        (1, "cudaMemcpyHostToDevice"),
        (2, "cudaMemcpyDeviceToHost"),
        (3, "cudaMemcpyDeviceToDevice"),
        (4, "cudaMemcpyDefault"),
    ],
};

const ERROR: Enumeration = Enumeration { name: "cudaError_t", enumerators: &[(0, "cudaSuccess")] };

const MEMORY_ADVICE: Enumeration = Enumeration {
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

const DEVICE_ATTRIBUTE: Enumeration = Enumeration {
    name: "cudaDeviceAttr",
    enumerators: &[
        (1, "cudaDevAttrMaxThreadsPerBlock"),
        (8, "cudaDevAttrMaxSharedMemoryPerBlock"),
        (10, "cudaDevAttrWarpSize"),
        (16, "cudaDevAttrMultiProcessorCount"),
    ],
};

const LIMIT: Enumeration = Enumeration {
    name: "cudaLimit",
    enumerators: &[(0, "cudaLimitStackSize"), (1, "cudaLimitPrintfFifoSize"), (2, "cudaLimitMallocHeapSize")],
};

const CACHE: Enumeration = Enumeration {
    name: "cudaFuncCache",
    enumerators: &[
        (0, "cudaFuncCachePreferNone"),
        (1, "cudaFuncCachePreferShared"),
        (2, "cudaFuncCachePreferL1"),
        (3, "cudaFuncCachePreferEqual"),
    ],
};
