//! Device, managed and pinned memory, and the copies between them.
//!
//! Device memory is ordinary memory here, but the runtime knows each allocation, so a pointer on
//! the wrong side of a copy, a copy past the end or a second free is an error as on a GPU.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;

use crate::abi::{Memory, Pointer, SPACE_CONSTANT, SPACE_MANAGED, Site};
use crate::check::Space;
use crate::error::{self, CudaError};
use crate::runtime::runtime;
use crate::{arena, checks};

/// Alignment of allocations, as CUDA promises.
const ALIGNMENT: usize = 256;

/// `cudaMemcpyKind`.
mod kind {
    pub(super) const HOST_TO_HOST: u32 = 0;
    pub(super) const HOST_TO_DEVICE: u32 = 1;
    pub(super) const DEVICE_TO_HOST: u32 = 2;
    pub(super) const DEVICE_TO_DEVICE: u32 = 3;
    pub(super) const DEFAULT: u32 = 4;
}

/// One allocation, or a variable of the program in device memory.
#[derive(Clone, Copy)]
struct Allocation {
    bytes: usize,
    memory: Memory,
    /// Variables of the program cannot be freed.
    variable: bool,
}

/// All allocations by address.
static ALLOCATIONS: Mutex<BTreeMap<usize, Allocation>> = Mutex::new(BTreeMap::new());

fn with_allocations<T>(body: impl FnOnce(&mut BTreeMap<usize, Allocation>) -> T) -> T {
    body(&mut ALLOCATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// The allocation that contains `address`. One past the end does not count as inside.
fn find(address: usize) -> Option<(usize, Allocation)> {
    with_allocations(|all| {
        let (&base, &allocation) = all.range(..=address).next_back()?;
        (address - base < allocation.bytes.max(1)).then_some((base, allocation))
    })
}

/// What the program has allocated and not freed, in bytes.
pub(crate) fn bytes_in_use() -> u64 {
    with_allocations(|all| all.values().filter(|one| !one.variable).map(|one| one.bytes as u64).sum())
}

/// # Safety
/// `name` is a string of the loaded program.
pub(crate) unsafe extern "C" fn symbol(address: *const c_void, bytes: u64, name: *const c_char, space: u32) {
    let memory = if space == SPACE_MANAGED { Memory::Managed } else { Memory::Device };
    let allocation = Allocation { bytes: bytes as usize, memory, variable: true };
    let known = with_allocations(|all| all.insert(address as usize, allocation)).is_some();
    // A copy may have come first, without the name.
    if !known || !name.is_null() {
        // SAFETY: per the contract.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        let space = match space {
            SPACE_CONSTANT => Space::Constant,
            SPACE_MANAGED => Space::Managed,
            _ => Space::Device,
        };
        checks::with(|checks| checks.symbol(address as usize, bytes as usize, &name.to_string_lossy(), space));
    }
}

/// New memory: in a checked run from the arena, whose addresses are never used again.
fn obtain(bytes: usize) -> Option<*mut u8> {
    if runtime().config.check {
        return arena::allocate(bytes, ALIGNMENT);
    }
    let layout = Layout::from_size_align(bytes, ALIGNMENT).ok()?;
    // SAFETY: the caller asks for at least one byte.
    Some(unsafe { alloc(layout) }).filter(|address| !address.is_null())
}

/// Takes memory back that `obtain` gave with this size.
fn give_back(address: *mut u8, bytes: usize) {
    if runtime().config.check {
        arena::discard(address as usize, bytes);
    } else if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
        // SAFETY: allocated by `obtain` with this layout, and forgotten by the caller.
        unsafe { dealloc(address, layout) };
    }
}

/// # Safety
/// `pointer` is null or points to a pointer. The same goes for the pointers given to the other
/// functions of this file: they are the user's, and are valid as CUDA requires.
pub(crate) unsafe extern "C" fn allocate(pointer: *mut *mut c_void, bytes: u64, memory: u32, site: Site) -> i32 {
    error::guarded(|| {
        let memory = Memory::from_raw(memory).ok_or(CudaError::INVALID_VALUE)?;
        if pointer.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        if bytes == 0 {
            // SAFETY: checked above; CUDA gives a null pointer for nothing.
            unsafe { *pointer = std::ptr::null_mut() };
            return Ok(());
        }
        let address = obtain(bytes).ok_or(CudaError::MEMORY_ALLOCATION)?;
        checks::with(|checks| checks.allocated(address as usize, bytes, memory, site));
        with_allocations(|all| all.insert(address as usize, Allocation { bytes, memory, variable: false }));
        // SAFETY: checked above.
        unsafe { *pointer = address.cast() };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn release(pointer: *mut c_void, memory: u32, site: Site) -> i32 {
    error::guarded(|| {
        if pointer.is_null() {
            return Ok(());
        }
        // `cudaFree` takes device and managed memory, `cudaFreeHost` pinned memory.
        let pinned = memory == Memory::Pinned as u32;
        let bytes = with_allocations(|all| {
            let found = all.get(&(pointer as usize)).filter(|a| !a.variable);
            let bytes = found.filter(|a| (a.memory == Memory::Pinned) == pinned)?.bytes;
            all.remove(&(pointer as usize));
            Some(bytes)
        });
        // A checked run says more about a pointer that cannot be freed.
        checks::with(|checks| checks.free(pointer as usize, site));
        give_back(pointer.cast(), bytes.ok_or(CudaError::INVALID_VALUE)?);
        Ok(())
    })
}

/// Whether `bytes` at `address` may be the device side (or the host side) of a copy.
fn side((address, bytes): (*const c_void, usize), device: bool) -> Result<(), CudaError> {
    match find(address as usize) {
        None if device => Err(CudaError::INVALID_VALUE),
        None => Ok(()),
        Some((base, allocation)) => {
            let fits = address as usize - base + bytes <= allocation.bytes;
            let right_side = match allocation.memory {
                Memory::Device => device,
                Memory::Pinned => !device,
                Memory::Managed => true,
            };
            if fits && right_side { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
        }
    }
}

/// Checks both ends of a copy, each with its extent in bytes, against the copy's kind.
fn check_copy(
    to: (*const c_void, usize),
    from: (*const c_void, usize),
    kind: u32,
    site: Site,
) -> Result<(), CudaError> {
    let is_device = |address: *const c_void| {
        matches!(find(address as usize), Some((_, Allocation { memory: Memory::Device | Memory::Managed, .. })))
    };
    let (to_device, from_device) = match kind {
        kind::HOST_TO_HOST => (false, false),
        kind::HOST_TO_DEVICE => (true, false),
        kind::DEVICE_TO_HOST => (false, true),
        kind::DEVICE_TO_DEVICE => (true, true),
        kind::DEFAULT => (is_device(to.0), is_device(from.0)),
        _ => return Err(CudaError::INVALID_MEMCPY_DIRECTION),
    };
    if to.0.is_null() || from.0.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let allowed = checks::with(|checks| {
        checks.transfer(from.0 as usize, from.1, from_device, false, site)
            && checks.transfer(to.0 as usize, to.1, to_device, true, site)
    });
    if allowed == Some(false) {
        return Err(CudaError::INVALID_VALUE);
    }
    side(to, to_device)?;
    side(from, from_device)
}

pub(crate) unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, bytes: u64, kind: u32, site: Site) -> i32 {
    error::guarded(|| {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        if bytes == 0 {
            return Ok(());
        }
        check_copy((to, bytes), (from, bytes), kind, site)?;
        // SAFETY: both sides were checked as far as the runtime knows them; overlap is allowed.
        unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn copy_2d(
    to: *mut c_void,
    to_pitch: u64,
    from: *const c_void,
    from_pitch: u64,
    width: u64,
    height: u64,
    kind: u32,
    site: Site,
) -> i32 {
    error::guarded(|| {
        if width > to_pitch || width > from_pitch {
            return Err(CudaError(12));
        }
        if width == 0 || height == 0 {
            return Ok(());
        }
        let extent = |pitch: u64| (pitch * (height - 1) + width) as usize;
        check_copy((to, extent(to_pitch)), (from, extent(from_pitch)), kind, site)?;
        for row in 0..height as usize {
            // SAFETY: as in `copy`.
            unsafe {
                let from = from.cast::<u8>().add(row * from_pitch as usize);
                std::ptr::copy(from, to.cast::<u8>().add(row * to_pitch as usize), width as usize);
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn fill(to: *mut c_void, value: i32, bytes: u64, site: Site) -> i32 {
    error::guarded(|| {
        if bytes == 0 {
            return Ok(());
        }
        let allowed = checks::with(|checks| checks.transfer(to as usize, bytes as usize, true, true, site));
        if allowed == Some(false) {
            return Err(CudaError::INVALID_VALUE);
        }
        side((to, bytes as usize), true)?;
        // SAFETY: inside an allocation, as just checked.
        unsafe { std::ptr::write_bytes(to.cast::<u8>(), value as u8, bytes as usize) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn pointer(result: *mut Pointer, pointer: *const c_void) -> i32 {
    error::guarded(|| {
        let found = find(pointer as usize).map(|(base, a)| Pointer {
            kind: a.memory as u32,
            reserved: 0,
            base: base as *mut c_void,
            bytes: a.bytes as u64,
        });
        let unknown = Pointer { kind: u32::MAX, reserved: 0, base: std::ptr::null_mut(), bytes: 0 };
        // SAFETY: the caller's own variable.
        unsafe { *result = found.unwrap_or(unknown) };
        Ok(())
    })
}
