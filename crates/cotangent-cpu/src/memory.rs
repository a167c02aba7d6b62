//! Device, managed and pinned memory, and the copies between them.
//!
//! Device memory is ordinary memory here, but the runtime knows each allocation, so a pointer on
//! the wrong side of a copy, a copy past the end or a second free is an error as on a GPU.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::abi::{Memory, Pointer, Request, SPACE_CONSTANT, SPACE_MANAGED, Site};
use crate::check::Space;
use crate::error::{self, CudaError};
use crate::queue::{self, Seen};
use crate::runtime::runtime;
use crate::{arena, checks, event};

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

/// Where memory comes from, which says how the program gives it back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Allocated,
    /// A variable of the program.
    Variable,
    /// The host's own memory, made known by `cudaHostRegister`.
    Registered,
    /// Freed in a stream that has not come to it yet.
    Freed,
}

/// One allocation, or a variable of the program in device memory.
#[derive(Clone, Copy)]
struct Allocation {
    bytes: usize,
    memory: Memory,
    origin: Origin,
}

/// All allocations by address.
static ALLOCATIONS: Mutex<BTreeMap<usize, Allocation>> = Mutex::new(BTreeMap::new());

fn with_allocations<T>(body: impl FnOnce(&mut BTreeMap<usize, Allocation>) -> T) -> T {
    body(&mut ALLOCATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// The allocation that contains `address`. One past the end does not count as inside.
fn find(address: usize) -> Option<(usize, Allocation)> {
    find_even_freed(address).filter(|(_, allocation)| allocation.origin != Origin::Freed)
}

fn find_even_freed(address: usize) -> Option<(usize, Allocation)> {
    with_allocations(|all| {
        let (&base, &allocation) = all.range(..=address).next_back()?;
        (address - base < allocation.bytes.max(1)).then_some((base, allocation))
    })
}

/// The allocation or variable around an address that a kernel uses, if the runtime knows one. What a stream has yet to free
/// counts, since the kernel may come before.
pub fn memory_at(address: usize) -> Option<Range<usize>> {
    find_even_freed(address).map(|(base, allocation)| base..base + allocation.bytes)
}

/// The device's memory, where it is to have less than this machine.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Gives the device so much memory, for programs that are to run out of it.
pub fn limit_device_memory(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// How much memory the device has at most.
pub(crate) fn device_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// What the program has allocated on the device and not freed, in bytes.
pub(crate) fn bytes_in_use() -> u64 {
    let is_used =
        |one: &&Allocation| one.memory != Memory::Pinned && matches!(one.origin, Origin::Allocated | Origin::Freed);
    with_allocations(|all| all.values().filter(is_used).map(|one| one.bytes as u64).sum())
}

/// Makes memory of the host's known as pinned. Returns a `cudaError_t`.
pub fn register_host_memory(address: usize, bytes: usize) -> i32 {
    error::guarded(|| {
        let end = address.checked_add(bytes).filter(|_| address != 0 && bytes != 0).ok_or(CudaError::INVALID_VALUE)?;
        let is_known = with_allocations(|all| {
            let overlaps = all.range(..end).next_back().is_some_and(|(base, one)| base + one.bytes > address);
            if !overlaps {
                all.insert(address, Allocation { bytes, memory: Memory::Pinned, origin: Origin::Registered });
            }
            overlaps
        });
        if is_known {
            return Err(CudaError::HOST_MEMORY_ALREADY_REGISTERED);
        }
        checks::with(|checks| checks.allocated(address, bytes, Memory::Pinned, Site::UNKNOWN));
        Ok(())
    })
}

/// Forgets what [`register_host_memory`] made known. Returns a `cudaError_t`.
pub fn unregister_host_memory(address: usize) -> i32 {
    error::guarded(|| {
        queue::wait_for_all()?;
        let known = with_allocations(|all| {
            let known = all.get(&address).is_some_and(|one| one.origin == Origin::Registered);
            known.then(|| all.remove(&address))
        });
        known.ok_or(CudaError::HOST_MEMORY_NOT_REGISTERED)?;
        checks::with(|checks| {
            checks.order().device_synchronized();
            checks.free(address, Site::UNKNOWN)
        });
        Ok(())
    })
}

/// Memory for a variable of a program that has no address of its own: zeroed, for ever, and known as `symbol` makes it
/// known. None if there is no more memory.
pub fn place_variable(name: &str, bytes: usize, alignment: usize, space: Space) -> Option<*mut u8> {
    let alignment = alignment.next_power_of_two();
    let room = bytes.checked_add(alignment.checked_mul(3)?)?;
    let start = obtain(room)?;
    // SAFETY: just obtained with this size.
    unsafe { std::ptr::write_bytes(start, 0, room) };
    // At a multiple of no more than it asks for: more would be chance.
    let address = (start as usize).next_multiple_of(2 * alignment) + alignment;
    let memory = if space == Space::Managed { Memory::Managed } else { Memory::Device };
    with_allocations(|all| all.insert(address, Allocation { bytes, memory, origin: Origin::Variable }));
    checks::with(|checks| checks.symbol(address, bytes, name, space));
    Some(address as *mut u8)
}

/// # Safety
/// `name` is a string of the loaded program.
pub(crate) unsafe extern "C" fn symbol(address: *const c_void, bytes: u64, name: *const c_char, space: u32) {
    let memory = if space == SPACE_MANAGED { Memory::Managed } else { Memory::Device };
    let allocation = Allocation { bytes: bytes as usize, memory, origin: Origin::Variable };
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
pub(crate) unsafe extern "C" fn allocate(pointer: *mut *mut c_void, bytes: u64, memory: u32, request: Request) -> i32 {
    error::guarded(|| {
        let stream = event::stream_id(request.stream)?;
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
        let limit = device_limit();
        if memory != Memory::Pinned && limit != u64::MAX && bytes as u64 > limit.saturating_sub(bytes_in_use()) {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let address = obtain(bytes).ok_or(CudaError::MEMORY_ALLOCATION)?;
        checks::with(|checks| {
            checks.allocated(address as usize, bytes, memory, request.site);
            if request.asynchronous != 0 {
                // Other streams may use it only after the allocation.
                checks.order().begin_transfer(stream);
                let _ = checks.transfer(address as usize, bytes, true, true, request.site);
            }
        });
        with_allocations(|all| all.insert(address as usize, Allocation { bytes, memory, origin: Origin::Allocated }));
        // SAFETY: checked above.
        unsafe { *pointer = address.cast() };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn release(pointer: *mut c_void, memory: u32, request: Request) -> i32 {
    error::guarded(|| {
        let stream = event::stream_id(request.stream)?;
        if pointer.is_null() {
            return Ok(());
        }
        let asynchronous = request.asynchronous != 0;
        if !asynchronous {
            queue::wait_for_all()?;
        }
        // `cudaFree` takes device and managed memory, `cudaFreeHost` pinned memory.
        let pinned = memory == Memory::Pinned as u32;
        let bytes = with_allocations(|all| {
            let found = all.get_mut(&(pointer as usize)).filter(|a| a.origin == Origin::Allocated);
            let found = found.filter(|a| (a.memory == Memory::Pinned) == pinned)?;
            found.origin = Origin::Freed;
            Some(found.bytes)
        });
        checks::with(|checks| {
            match (asynchronous, bytes) {
                // Freeing in a stream waits for that stream only.
                (true, Some(bytes)) => {
                    checks.order().begin_transfer(stream);
                    let _ = checks.transfer(pointer as usize, bytes, true, true, request.site);
                }
                (true, None) => {}
                (false, _) => checks.order().device_synchronized(),
            }
            // A checked run says more about a pointer that cannot be freed.
            checks.free(pointer as usize, request.site);
        });
        let (address, bytes) = (pointer as usize, bytes.ok_or(CudaError::INVALID_VALUE)?);
        let free = move || {
            with_allocations(|all| all.remove(&address));
            give_back(address as *mut u8, bytes);
            Ok(())
        };
        if asynchronous { queue::submit(stream, Seen::OnDevice, free).map(drop) } else { free() }
    })
}

/// Whether rows may be the device side (or the host side) of a copy.
fn side(rows: Rows, device: bool) -> Result<(), CudaError> {
    match find(rows.start) {
        None if device => Err(CudaError::INVALID_VALUE),
        None => Ok(()),
        Some((base, allocation)) => {
            let fits = rows.start - base + rows.extent() <= allocation.bytes;
            let right_side = match allocation.memory {
                Memory::Device => device,
                Memory::Pinned => !device,
                Memory::Managed => true,
            };
            if fits && right_side { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
        }
    }
}

/// Rows of equal length, as copies and fills touch them.
#[derive(Clone, Copy)]
struct Rows {
    start: usize,
    pitch: usize,
    width: usize,
    height: usize,
}

impl Rows {
    fn new(start: *const c_void, pitch: u64, width: u64, height: u64) -> Result<Rows, CudaError> {
        if width > pitch && height > 1 {
            return Err(CudaError::INVALID_PITCH);
        }
        let number = |value: u64| usize::try_from(value).map_err(|_| CudaError::INVALID_VALUE);
        let rows =
            Rows { start: start as usize, pitch: number(pitch)?, width: number(width)?, height: number(height)? };
        let extent = rows.pitch.checked_mul(rows.height).and_then(|bytes| bytes.checked_add(rows.width));
        extent.map(|_| rows).ok_or(CudaError::INVALID_VALUE)
    }

    /// From the first byte to the last.
    fn extent(self) -> usize {
        self.pitch * (self.height - 1) + self.width
    }

    fn row(self, index: usize) -> usize {
        self.start + index * self.pitch
    }

    /// Writes other rows of the same length into these. Both were found valid when the copy was asked for, as far as the
    /// runtime knows them; this is the promise that the next three functions stand on too.
    fn copy_from(self, from: Rows) {
        for row in 0..self.height {
            // SAFETY: as said above; overlap is allowed.
            unsafe { std::ptr::copy(from.row(row) as *const u8, self.row(row) as *mut u8, self.width) };
        }
    }

    /// All rows, one after the other.
    fn gather(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.width * self.height);
        for row in 0..self.height {
            // SAFETY: as in `copy_from`.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(self.row(row) as *const u8, self.width) });
        }
        bytes
    }

    /// The opposite of `gather`.
    fn scatter(self, bytes: &[u8]) {
        for (row, bytes) in bytes.chunks(self.width).enumerate() {
            // SAFETY: as in `copy_from`; the bytes are ours.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.row(row) as *mut u8, self.width) };
        }
    }

    fn fill(self, value: u8) {
        for row in 0..self.height {
            // SAFETY: as in `copy_from`.
            unsafe { std::ptr::write_bytes(self.row(row) as *mut u8, value, self.width) };
        }
    }

    /// Tells the checks of all bytes; rows without a gap between them are one.
    fn transfer(self, is_device: bool, writes: bool, site: Site) -> Result<(), CudaError> {
        let (count, bytes) = if self.pitch == self.width { (1, self.extent()) } else { (self.height, self.width) };
        let allowed = checks::with(|checks| {
            (0..count).all(|index| checks.transfer(self.row(index), bytes, is_device, writes, site))
        });
        if allowed == Some(false) { Err(CudaError::INVALID_VALUE) } else { Ok(()) }
    }
}

/// How much of the host's memory may be held for copies that wait.
const MOST_STAGED: usize = 1 << 28;

/// How much is held now.
static STAGED: AtomicUsize = AtomicUsize::new(0);

fn has_room_to_stage(rows: Rows) -> bool {
    STAGED.load(Ordering::Relaxed).saturating_add(rows.extent()) <= MOST_STAGED
}

/// What a copy that waits has read of the host's memory.
struct Staged {
    bytes: Vec<u8>,
}

impl Staged {
    fn read(rows: Rows) -> Staged {
        let bytes = rows.gather();
        STAGED.fetch_add(bytes.len(), Ordering::Relaxed);
        Staged { bytes }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        STAGED.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Checks both ends of a copy against its kind. Returns whether they are on the device.
fn check_copy(to: Rows, from: Rows, kind: u32, site: Site) -> Result<(bool, bool), CudaError> {
    let is_device = |address: usize| {
        matches!(find(address), Some((_, Allocation { memory: Memory::Device | Memory::Managed, .. })))
    };
    let (to_device, from_device) = match kind {
        kind::HOST_TO_HOST => (false, false),
        kind::HOST_TO_DEVICE => (true, false),
        kind::DEVICE_TO_HOST => (false, true),
        kind::DEVICE_TO_DEVICE => (true, true),
        kind::DEFAULT => (is_device(to.start), is_device(from.start)),
        _ => return Err(CudaError::INVALID_MEMCPY_DIRECTION),
    };
    if to.start == 0 || from.start == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    from.transfer(from_device, false, site)?;
    to.transfer(to_device, true, site)?;
    side(to, to_device)?;
    side(from, from_device)?;
    Ok((to_device, from_device))
}

pub(crate) unsafe extern "C" fn copy(
    to: *mut c_void,
    to_pitch: u64,
    from: *const c_void,
    from_pitch: u64,
    width: u64,
    height: u64,
    kind: u32,
    request: Request,
) -> i32 {
    error::guarded(|| {
        let stream = event::stream_id(request.stream)?;
        if width > to_pitch || width > from_pitch {
            return Err(CudaError::INVALID_PITCH);
        }
        let (to, from) = (Rows::new(to, to_pitch, width, height)?, Rows::new(from, from_pitch, width, height)?);
        if width == 0 || height == 0 {
            return Ok(());
        }
        checks::with(|checks| checks.order().begin_transfer(stream));
        let sides = check_copy(to, from, kind, request.site)?;
        // A copy from device to device is not waited for in any case, one within the host always.
        let is_pageable = !sides.1 && find(from.start).is_none();
        let is_waited_for = match sides {
            (true, true) => false,
            (false, false) => true,
            (true, false) if is_pageable && queue::is_late() && !has_room_to_stage(from) => true,
            (true, false) | (false, true) => request.asynchronous == 0,
        };
        if is_waited_for && request.asynchronous == 0 {
            checks::with(|checks| checks.order().stream_synchronized(stream));
        }
        let seen = if sides.0 { Seen::OnDevice } else { Seen::OnHost };
        // What the host may change, or take away, as soon as the call returns is read now.
        let is_staged = queue::is_late() && !is_waited_for && is_pageable;
        let staged = is_staged.then(|| Staged::read(from));
        let ticket = queue::submit(stream, seen, move || {
            match &staged {
                Some(staged) => to.scatter(&staged.bytes),
                None => to.copy_from(from),
            }
            Ok(())
        })?;
        if is_waited_for { queue::wait_for(ticket) } else { Ok(()) }
    })
}

pub(crate) unsafe extern "C" fn fill(
    to: *mut c_void,
    pitch: u64,
    value: i32,
    width: u64,
    height: u64,
    request: Request,
) -> i32 {
    error::guarded(|| {
        let stream = event::stream_id(request.stream)?;
        let to = Rows::new(to, pitch, width, height)?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        checks::with(|checks| checks.order().begin_transfer(stream));
        to.transfer(true, true, request.site)?;
        side(to, true)?;
        // A fill is waited for only where the host can see it.
        let is_managed = matches!(find(to.start), Some((_, Allocation { memory: Memory::Managed, .. })));
        let is_waited_for = request.asynchronous == 0 && is_managed;
        if is_waited_for {
            checks::with(|checks| checks.order().stream_synchronized(stream));
        }
        let ticket = queue::submit(stream, Seen::OnDevice, move || {
            to.fill(value as u8);
            Ok(())
        })?;
        if is_waited_for { queue::wait_for(ticket) } else { Ok(()) }
    })
}

/// Moves managed memory nearer to a device, or to the host (-1): all of it is equally near here. Nothing is read or
/// written, so there is nothing to race with.
pub(crate) unsafe extern "C" fn prefetch(pointer: *const c_void, bytes: u64, device: i32, request: Request) -> i32 {
    error::guarded(|| {
        let stream = event::stream_id(request.stream)?;
        if !(-1..=0).contains(&device) {
            return Err(CudaError::INVALID_DEVICE);
        }
        let known = find(pointer as usize).filter(|(_, allocation)| allocation.memory == Memory::Managed);
        let (base, allocation) = known.ok_or(CudaError::INVALID_VALUE)?;
        let fits = bytes > 0 && bytes <= (allocation.bytes - (pointer as usize - base)) as u64;
        checks::with(|checks| checks.order().begin_transfer(stream));
        if fits { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
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
