//! Structures of CUDA 13's runtime API, with CUDA's names for their fields. The test `tests/interface.rs` compares every size and
//! offset with NVIDIA's headers.

use std::ffi::{c_char, c_void};

use cotangent_cpu::abi::{Dim, Memory, Pointer};

/// Defines structures, each with its name in C and its fields, and [`layout`], which lists them.
macro_rules! mirrors {
    ($($(#[$meta:meta])* $name:ident = $c:literal {
        $($(#[$about:meta])* $field:ident $(as $named:literal)?: $type:ty,)*
    })*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                $($(#[$about])* pub $field: $type,)*
            }
        )*

        /// Sizes and offsets of the structures, named as in CUDA's headers: `(structure, field, offset)`, and the
        /// structure's size under the empty field name.
        pub fn layout() -> Vec<(&'static str, &'static str, usize)> {
            vec![$(
                ($c, "", size_of::<$name>()),
                $(($c, mirrors!(@ $field $($named)?), std::mem::offset_of!($name, $field)),)*
            )*]
        }
    };
    (@ $field:ident) => { stringify!($field) };
    (@ $field:ident $named:literal) => { $named };
}

mirrors! {
    /// `cudaDeviceProp`: what the device says of itself.
    DeviceProp = "cudaDeviceProp" {
        name: [c_char; 256],
        uuid: [u8; 16],
        luid: [c_char; 8],
        luidDeviceNodeMask: u32,
        totalGlobalMem: usize,
        sharedMemPerBlock: usize,
        regsPerBlock: i32,
        warpSize: i32,
        memPitch: usize,
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        totalConstMem: usize,
        major: i32,
        minor: i32,
        textureAlignment: usize,
        texturePitchAlignment: usize,
        multiProcessorCount: i32,
        integrated: i32,
        canMapHostMemory: i32,
        maxTexture1D: i32,
        maxTexture1DMipmap: i32,
        maxTexture2D: [i32; 2],
        maxTexture2DMipmap: [i32; 2],
        maxTexture2DLinear: [i32; 3],
        maxTexture2DGather: [i32; 2],
        maxTexture3D: [i32; 3],
        maxTexture3DAlt: [i32; 3],
        maxTextureCubemap: i32,
        maxTexture1DLayered: [i32; 2],
        maxTexture2DLayered: [i32; 3],
        maxTextureCubemapLayered: [i32; 2],
        maxSurface1D: i32,
        maxSurface2D: [i32; 2],
        maxSurface3D: [i32; 3],
        maxSurface1DLayered: [i32; 2],
        maxSurface2DLayered: [i32; 3],
        maxSurfaceCubemap: i32,
        maxSurfaceCubemapLayered: [i32; 2],
        surfaceAlignment: usize,
        concurrentKernels: i32,
        ECCEnabled: i32,
        pciBusID: i32,
        pciDeviceID: i32,
        pciDomainID: i32,
        tccDriver: i32,
        asyncEngineCount: i32,
        unifiedAddressing: i32,
        memoryBusWidth: i32,
        l2CacheSize: i32,
        persistingL2CacheMaxSize: i32,
        maxThreadsPerMultiProcessor: i32,
        streamPrioritiesSupported: i32,
        globalL1CacheSupported: i32,
        localL1CacheSupported: i32,
        sharedMemPerMultiprocessor: usize,
        regsPerMultiprocessor: i32,
        managedMemory: i32,
        isMultiGpuBoard: i32,
        multiGpuBoardGroupID: i32,
        hostNativeAtomicSupported: i32,
        pageableMemoryAccess: i32,
        concurrentManagedAccess: i32,
        computePreemptionSupported: i32,
        canUseHostPointerForRegisteredMem: i32,
        cooperativeLaunch: i32,
        sharedMemPerBlockOptin: usize,
        pageableMemoryAccessUsesHostPageTables: i32,
        directManagedMemAccessFromHost: i32,
        maxBlocksPerMultiProcessor: i32,
        accessPolicyMaxWindowSize: i32,
        reservedSharedMemPerBlock: usize,
        hostRegisterSupported: i32,
        sparseCudaArraySupported: i32,
        hostRegisterReadOnlySupported: i32,
        timelineSemaphoreInteropSupported: i32,
        memoryPoolsSupported: i32,
        gpuDirectRDMASupported: i32,
        gpuDirectRDMAFlushWritesOptions: u32,
        gpuDirectRDMAWritesOrdering: i32,
        memoryPoolSupportedHandleTypes: u32,
        deferredMappingCudaArraySupported: i32,
        ipcEventSupported: i32,
        clusterLaunch: i32,
        unifiedFunctionPointers: i32,
        deviceNumaConfig: i32,
        deviceNumaId: i32,
        mpsEnabled: i32,
        hostNumaId: i32,
        gpuPciDeviceID: u32,
        gpuPciSubsystemID: u32,
        hostNumaMultinodeIpcSupported: i32,
        reserved: [i32; 56],
    }

    /// `cudaFuncAttributes`.
    #[derive(Default)]
    FuncAttributes = "cudaFuncAttributes" {
        sharedSizeBytes: usize,
        constSizeBytes: usize,
        localSizeBytes: usize,
        maxThreadsPerBlock: i32,
        numRegs: i32,
        ptxVersion: i32,
        binaryVersion: i32,
        cacheModeCA: i32,
        maxDynamicSharedSizeBytes: i32,
        preferredShmemCarveout: i32,
        clusterDimMustBeSet: i32,
        requiredClusterWidth: i32,
        requiredClusterHeight: i32,
        requiredClusterDepth: i32,
        clusterSchedulingPolicyPreference: i32,
        nonPortableClusterSizeAllowed: i32,
        deviceNodeUpdateStatus: i32,
        sharedMemoryMode: i32,
        reserved: [i32; 14],
    }

    /// `cudaPointerAttributes`.
    PointerAttributes = "cudaPointerAttributes" {
        kind as "type": i32,
        device: i32,
        devicePointer: *mut c_void,
        hostPointer: *mut c_void,
        /// In a union with a `long`.
        localityDomainOrdinal: i32,
        reserved: [i64; 7],
    }

    /// `cudaMemLocation`.
    MemLocation = "cudaMemLocation" {
        kind as "type": i32,
        id: i32,
    }

    /// `cudaLaunchAttribute`, whose value is a union of 64 bytes.
    LaunchAttribute = "cudaLaunchAttribute" {
        id: i32,
        pad: [u8; 4],
        val: [u64; 8],
    }

    /// `cudaLaunchConfig_t`.
    LaunchConfig = "cudaLaunchConfig_t" {
        gridDim: Dim,
        blockDim: Dim,
        dynamicSmemBytes: usize,
        stream: *mut c_void,
        attrs: *const LaunchAttribute,
        numAttrs: u32,
    }

    /// `cudaPitchedPtr`.
    PitchedPtr = "cudaPitchedPtr" {
        ptr: *mut c_void,
        pitch: usize,
        xsize: usize,
        ysize: usize,
    }

    /// `cudaExtent`.
    Extent = "cudaExtent" {
        width: usize,
        height: usize,
        depth: usize,
    }

    /// `cudaPos`.
    Pos = "cudaPos" {
        x: usize,
        y: usize,
        z: usize,
    }

    /// `cudaMemcpy3DParms`.
    Memcpy3DParms = "cudaMemcpy3DParms" {
        srcArray: *mut c_void,
        srcPos: Pos,
        srcPtr: PitchedPtr,
        dstArray: *mut c_void,
        dstPos: Pos,
        dstPtr: PitchedPtr,
        extent: Extent,
        kind: u32,
    }

    /// `cudaChannelFormatDesc`.
    ChannelFormatDesc = "cudaChannelFormatDesc" {
        x: i32,
        y: i32,
        z: i32,
        w: i32,
        f: i32,
    }
}

impl PointerAttributes {
    /// What is said about an address, of which this is known.
    pub(crate) fn of(found: &Pointer, address: *mut c_void) -> PointerAttributes {
        let is = |memory: Memory| found.kind == memory as u32;
        let known = is(Memory::Device) || is(Memory::Managed) || is(Memory::Pinned);
        // cudaMemoryTypeUnregistered is 0, Host 1, Device 2, Managed 3.
        let kind = [Memory::Pinned, Memory::Device, Memory::Managed].into_iter().position(is);
        let pointer = |there: bool| if there { address } else { std::ptr::null_mut() };
        PointerAttributes {
            kind: kind.map_or(0, |index| index as i32 + 1),
            device: if known { 0 } else { -2 },
            devicePointer: pointer(known),
            hostPointer: pointer(!is(Memory::Device)),
            localityDomainOrdinal: -1,
            reserved: [0; 7],
        }
    }
}

impl LaunchAttribute {
    pub(crate) fn is_cooperative(&self) -> bool {
        self.id == 2 && self.val[0] as u32 != 0
    }

    /// Clusters of more than one block.
    pub(crate) fn is_cluster(&self) -> bool {
        let [x, y, z] = [self.val[0] as u32, (self.val[0] >> 32) as u32, self.val[1] as u32];
        self.id == 4 && Dim { x, y, z }.count() > 1
    }
}
