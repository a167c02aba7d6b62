//! The C ABI between a compiled CUDA program and this runtime.
//!
//! Mirrors `include/cpu/cotangent/abi.h` field by field; the test `tests/abi.rs` compiles the
//! header and compares every size and offset with [`layout`]. What the fields mean is written
//! there, once.

use std::ffi::{c_char, c_void};

/// Raised with every change of layout or meaning.
pub const ABI_VERSION: u32 = 3;

/// The largest dynamic shared memory of a block.
pub const MAX_DYNAMIC_SHARED: usize = 232_448;

/// Bytes after a program's static shared memory that belong to no variable.
pub const SHARED_GUARD: usize = 1024;

/// The dynamic shared memory that a kernel may use without asking for more.
pub(crate) const DEFAULT_DYNAMIC_SHARED: usize = 48 * 1024;

/// An extent or an index in up to three dimensions.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim {
    /// Number of elements of the box with these extents.
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }

    /// Coordinates of a linear index in the box with these extents, x fastest.
    pub fn coordinates(self, linear: u64) -> Dim {
        let (x, y) = (u64::from(self.x), u64::from(self.y));
        Dim { x: (linear % x) as u32, y: (linear / x % y) as u32, z: (linear / (x * y)) as u32 }
    }
}

/// A place in the user's source.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Site {
    pub file: *const c_char,
    pub line: u32,
}

impl Site {
    /// Nothing is known about the place.
    pub const UNKNOWN: Site = Site { file: std::ptr::null(), line: 0 };
}

// SAFETY: the file is a string literal of the program, which stays as it is while the process lives.
unsafe impl Send for Site {}
// SAFETY: as above.
unsafe impl Sync for Site {}

/// A copy, fill, allocation or release as it is asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Request {
    pub stream: *mut c_void,
    pub asynchronous: u32,
    pub site: Site,
}

/// What a barrier computes from its predicates.
pub(crate) mod barrier {
    pub(crate) const COUNT: u32 = 1;
    pub(crate) const AND: u32 = 2;
    pub(crate) const OR: u32 = 3;
}

/// Kinds of variables: `CotangentSpace` of the header.
pub(crate) const SPACE_CONSTANT: u32 = 1;
pub(crate) const SPACE_MANAGED: u32 = 2;

/// What memory is allocated for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Device = 0,
    Managed = 1,
    Pinned = 2,
}

impl Memory {
    pub(crate) fn from_raw(raw: u32) -> Option<Memory> {
        [Memory::Device, Memory::Managed, Memory::Pinned].into_iter().find(|memory| *memory as u32 == raw)
    }
}

/// A launch: its configuration, and the functions of the program that run it.
#[repr(C)]
pub struct Launch {
    pub grid: Dim,
    pub block: Dim,
    pub shared_bytes: u64,
    pub stream: *mut c_void,
    pub function: *const c_void,
    pub closure: *mut c_void,
    pub enter_block: unsafe extern "C" fn(*const Launch, Dim) -> *mut Dim,
    pub leave_block: unsafe extern "C" fn(),
    pub run_thread: unsafe extern "C" fn(*mut c_void),
    pub run_blocks: Option<unsafe extern "C" fn(*mut c_void, *const Launch, u64, u64)>,
    pub site: Site,
}

/// What the runtime knows about a pointer.
#[repr(C)]
pub struct Pointer {
    pub kind: u32,
    pub reserved: u32,
    pub base: *mut c_void,
    pub bytes: u64,
}

/// The table of functions that a program is given.
#[repr(C)]
pub struct Api {
    pub version: u32,
    pub checking: u32,

    pub launch: unsafe extern "C" fn(*const Launch) -> i32,
    pub dynamic_shared: extern "C" fn() -> *mut c_void,
    pub barrier: unsafe extern "C" fn(u32, i32, *const c_char, u32) -> i32,
    pub collective: unsafe extern "C" fn(u32, u32, u64, u32, u32, *const c_char, u32) -> u64,
    pub active_mask: unsafe extern "C" fn(*const c_char, u32) -> u32,
    pub assert_failed: unsafe extern "C" fn(*const c_char, *const c_char, u32, *const c_char),
    pub trap: unsafe extern "C" fn(*const c_char, u32),

    pub allocate: unsafe extern "C" fn(*mut *mut c_void, u64, u32, Request) -> i32,
    pub release: unsafe extern "C" fn(*mut c_void, u32, Request) -> i32,
    pub copy: unsafe extern "C" fn(*mut c_void, u64, *const c_void, u64, u64, u64, u32, Request) -> i32,
    pub fill: unsafe extern "C" fn(*mut c_void, u64, i32, u64, u64, Request) -> i32,
    pub prefetch: unsafe extern "C" fn(*const c_void, u64, i32, Request) -> i32,
    pub symbol: unsafe extern "C" fn(*const c_void, u64, *const c_char, u32),
    pub pointer: unsafe extern "C" fn(*mut Pointer, *const c_void) -> i32,
    pub memory_info: unsafe extern "C" fn(*mut u64, *mut u64) -> i32,

    pub stream_create: unsafe extern "C" fn(*mut *mut c_void, u32) -> i32,
    pub stream_destroy: unsafe extern "C" fn(*mut c_void) -> i32,
    pub stream_synchronize: unsafe extern "C" fn(*mut c_void) -> i32,
    pub event_create: unsafe extern "C" fn(*mut *mut c_void) -> i32,
    pub event_destroy: unsafe extern "C" fn(*mut c_void) -> i32,
    pub event_record: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
    pub event_synchronize: unsafe extern "C" fn(*mut c_void) -> i32,
    pub event_elapsed: unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> i32,
    pub device_synchronize: extern "C" fn() -> i32,
    pub stream_wait: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
    pub host_function: unsafe extern "C" fn(*mut c_void, unsafe extern "C" fn(*mut c_void), *mut c_void) -> i32,
    pub function_shared_limit: extern "C" fn(*const c_void, i32) -> i32,

    pub peek_error: extern "C" fn() -> i32,
    pub take_error: extern "C" fn() -> i32,
    pub set_error: extern "C" fn(i32) -> i32,
    pub error_name: extern "C" fn(i32) -> *const c_char,
    pub error_text: extern "C" fn(i32) -> *const c_char,
    pub terminated: unsafe extern "C" fn(*const c_char),

    pub access: unsafe extern "C" fn(*const c_void, u64, u32, u32, *const c_void),
    pub access_copy: unsafe extern "C" fn(*const c_void, *const c_void, u64, *const c_void),
    pub device_begin: u64,
    pub device_bytes: u64,
}

/// Sizes and offsets of the mirrored structures, named as in the header: `(structure, field,
/// offset)`, and the structure's size under the empty field name.
pub fn layout() -> Vec<(&'static str, &'static str, usize)> {
    macro_rules! offsets {
        ($name:literal, $type:ty, $($field:ident),*) => {
            vec![($name, "", size_of::<$type>()), $(($name, stringify!($field), std::mem::offset_of!($type, $field))),*]
        };
    }
    [
        offsets!("CotangentDim", Dim, x, y, z),
        offsets!("CotangentSite", Site, file, line),
        offsets!("CotangentRequest", Request, stream, asynchronous, site),
        offsets!(
            "CotangentLaunch",
            Launch,
            grid,
            block,
            shared_bytes,
            stream,
            function,
            closure,
            enter_block,
            leave_block,
            run_thread,
            run_blocks,
            site
        ),
        offsets!("CotangentPointer", Pointer, kind, reserved, base, bytes),
        offsets!(
            "CotangentApi",
            Api,
            version,
            checking,
            launch,
            dynamic_shared,
            barrier,
            collective,
            active_mask,
            assert_failed,
            trap,
            allocate,
            release,
            copy,
            fill,
            prefetch,
            symbol,
            pointer,
            memory_info,
            stream_create,
            stream_destroy,
            stream_synchronize,
            event_create,
            event_destroy,
            event_record,
            event_synchronize,
            event_elapsed,
            device_synchronize,
            stream_wait,
            host_function,
            function_shared_limit,
            peek_error,
            take_error,
            set_error,
            error_name,
            error_text,
            terminated,
            access,
            access_copy,
            device_begin,
            device_bytes
        ),
    ]
    .concat()
}
