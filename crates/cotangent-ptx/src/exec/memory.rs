//! Loads, stores and atomic operations: the only code here that touches the memory of a program.
//!
//! Shared, local and parameter memory are windows of this crate's own, with addresses from 0; an address outside of one
//! ends the launch. Everything else is an absolute address. In a checked run the checker says of each whether it may be
//! touched; otherwise it is taken as the program gives it, as on a GPU without a sanitizer, except that null and its
//! neighbours and misaligned addresses end the launch, as there.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::lanes::{Lanes, Mask, Value, lanes_of};
use super::rounding::{BFLOAT, Format, HALF, from_bits, narrow, to_bits};
use crate::program::{AtomicFunction, Rounding, Type};

/// The local memory of a thread.
pub(super) const LOCAL_BYTES: usize = 512 * 1024;

/// The largest parameters of a kernel.
pub(super) const PARAMETER_BYTES: usize = 32 * 1024;

/// Shared memory of a block, static and dynamic.
pub(super) const SHARED_BYTES: usize = 512 * 1024;

/// Threads of a block.
const THREADS: usize = 1024;

/// Addresses below belong to nobody.
const LOWEST_ADDRESS: u64 = 64 * 1024;

/// The windows of the block that an OS thread runs. They stay for the life of the OS thread.
pub(super) struct Windows {
    start: usize,
}

impl Windows {
    const BYTES: usize = SHARED_BYTES + PARAMETER_BYTES + THREADS * LOCAL_BYTES;

    /// Reserves address space; pages are there once they are touched.
    pub(super) fn new() -> Windows {
        // SAFETY: an anonymous mapping at an address of the system's choice touches nothing else.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Windows::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(start != libc::MAP_FAILED, "no address space left for the memory of a block");
        Windows { start: start as usize }
    }

    pub(super) fn shared(&self) -> usize {
        self.start
    }

    pub(super) fn parameters(&self) -> usize {
        self.start + SHARED_BYTES
    }

    pub(super) fn local(&self, thread: u32) -> usize {
        self.start + SHARED_BYTES + PARAMETER_BYTES + thread as usize * LOCAL_BYTES
    }

    /// Fills a part of the windows, which this type owns.
    pub(super) fn fill(&mut self, address: usize, bytes: usize, value: u8) {
        assert!(address >= self.start && address + bytes <= self.start + Windows::BYTES, "inside of the windows");
        // SAFETY: inside of the mapping, as just asserted.
        unsafe { std::ptr::write_bytes(address as *mut u8, value, bytes) };
    }

    /// Moves bytes inside the windows.
    pub(super) fn copy_inside(&mut self, to: usize, from: usize, bytes: usize) {
        let inside = |address: usize| address >= self.start && address + bytes <= self.start + Windows::BYTES;
        assert!(inside(to) && inside(from), "inside of the windows");
        // SAFETY: inside of the mapping, as just asserted.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    }

    pub(super) fn set_parameters(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(PARAMETER_BYTES);
        // SAFETY: the parameters' own part of the mapping.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.parameters() as *mut u8, length) };
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made.
        unsafe { libc::munmap(self.start as *mut libc::c_void, Windows::BYTES) };
    }
}

/// Whether an absolute address cannot belong to anybody: the first pages, of which a checker has more to say, and what no
/// processor can address.
#[inline]
pub(super) fn is_nowhere(address: u64, is_checked: bool) -> bool {
    (address < LOWEST_ADDRESS && !is_checked) || address >> 47 != 0
}

/// Reads `kind` at the addresses of the lanes. Signed values are extended.
///
/// # Safety
/// The addresses may be read.
pub(super) unsafe fn load(kind: Type, mask: Mask, addresses: &[usize; 32], offset: usize) -> Lanes {
    let mut result = [0; 32];
    // SAFETY: per the contract; alignment is not assumed.
    unsafe {
        match (kind.bytes(), kind.is_signed()) {
            (1, false) => gather::<u8>(mask, addresses, offset, &mut result),
            (1, true) => gather::<i8>(mask, addresses, offset, &mut result),
            (2, false) => gather::<u16>(mask, addresses, offset, &mut result),
            (2, true) => gather::<i16>(mask, addresses, offset, &mut result),
            (4, false) => gather::<u32>(mask, addresses, offset, &mut result),
            (4, true) => gather::<i32>(mask, addresses, offset, &mut result),
            _ => gather::<u64>(mask, addresses, offset, &mut result),
        }
    }
    result
}

#[inline(always)]
unsafe fn gather<T: Value>(mask: Mask, addresses: &[usize; 32], offset: usize, result: &mut Lanes) {
    for lane in lanes_of(mask) {
        // SAFETY: per the contract of `load`.
        result[lane] = unsafe { ((addresses[lane] + offset) as *const T).read_unaligned() }.bits();
    }
}

/// Writes the low bytes of values, lane after lane: of several to one address the last stays.
///
/// # Safety
/// The addresses may be written.
pub(super) unsafe fn store(
    kind: Type,
    lanes: impl Iterator<Item = usize>,
    addresses: &[usize; 32],
    offset: usize,
    values: &Lanes,
) {
    // SAFETY: per the contract; alignment is not assumed.
    unsafe {
        match kind.bytes() {
            1 => scatter::<u8>(lanes, addresses, offset, values),
            2 => scatter::<u16>(lanes, addresses, offset, values),
            4 => scatter::<u32>(lanes, addresses, offset, values),
            _ => scatter::<u64>(lanes, addresses, offset, values),
        }
    }
}

#[inline(always)]
unsafe fn scatter<T: Value>(
    lanes: impl Iterator<Item = usize>,
    addresses: &[usize; 32],
    offset: usize,
    values: &Lanes,
) {
    for lane in lanes {
        // SAFETY: per the contract of `store`.
        unsafe { ((addresses[lane] + offset) as *mut T).write_unaligned(T::of(values[lane])) };
    }
}

/// Bytes from one place to another; what is not copied is zero.
///
/// # Safety
/// `bytes` may be read and written there.
pub(super) unsafe fn copy(to: usize, from: usize, bytes: usize, filled: usize) {
    // SAFETY: per the contract.
    unsafe {
        std::ptr::copy(from as *const u8, to as *mut u8, filled.min(bytes));
        std::ptr::write_bytes((to + filled.min(bytes)) as *mut u8, 0, bytes.saturating_sub(filled));
    }
}

/// A string that ends with a zero byte, at most so long.
///
/// # Safety
/// It may be read up to its end.
pub(super) unsafe fn string(address: u64, longest: usize) -> Vec<u8> {
    // SAFETY: per the contract.
    (0..longest)
        .map(|index| unsafe { (address as *const u8).add(index).read() })
        .take_while(|byte| *byte != 0)
        .collect()
}

/// Reads one value of up to eight bytes.
///
/// # Safety
/// It may be read.
pub(super) unsafe fn load_one(address: usize, bytes: usize) -> u64 {
    let mut value = [0; 8];
    // SAFETY: per the contract.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), bytes.min(8)) };
    u64::from_le_bytes(value)
}

/// # Safety
/// It may be written.
pub(super) unsafe fn store_one(address: usize, bytes: usize, value: u64) {
    // SAFETY: per the contract.
    unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), address as *mut u8, bytes.min(8)) };
}

/// Changes memory atomically, because blocks run on several OS threads, and returns what was there. None if there is no such
/// operation.
///
/// # Safety
/// The address is aligned and may be read and written.
pub(super) unsafe fn atomic(
    function: AtomicFunction,
    kind: Type,
    address: usize,
    operand: u64,
    swapped: Option<u64>,
) -> Option<u64> {
    let change = |old: u64| changed(function, kind, old, operand, swapped);
    change(0)?;
    // SAFETY: per the contract.
    let old = unsafe {
        match kind.bytes() {
            2 => {
                let place = AtomicU16::from_ptr(address as *mut u16);
                let update = |old: u16| change(u64::from(old)).map(|new| new as u16);
                place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update).map_or_else(u64::from, u64::from)
            }
            4 => {
                let place = AtomicU32::from_ptr(address as *mut u32);
                let update = |old: u32| change(u64::from(old)).map(|new| new as u32);
                place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update).map_or_else(u64::from, u64::from)
            }
            8 => {
                let place = AtomicU64::from_ptr(address as *mut u64);
                place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).unwrap_or_else(|old| old)
            }
            _ => return None,
        }
    };
    Some(old)
}

/// What a value becomes.
pub(super) fn changed(
    function: AtomicFunction,
    kind: Type,
    old: u64,
    operand: u64,
    swapped: Option<u64>,
) -> Option<u64> {
    Some(match function {
        AtomicFunction::Exchange => operand,
        AtomicFunction::CompareAndSwap => {
            let width = kind.bytes() * 8;
            let same = (old ^ operand) << (64 - width) == 0;
            if same { swapped? } else { old }
        }
        AtomicFunction::And => old & operand,
        AtomicFunction::Or => old | operand,
        AtomicFunction::Xor => old ^ operand,
        AtomicFunction::Increment => {
            let (old, limit) = (old as u32, operand as u32);
            u64::from(if old >= limit { 0 } else { old + 1 })
        }
        AtomicFunction::Decrement => {
            let (old, limit) = (old as u32, operand as u32);
            u64::from(if old == 0 || old > limit { limit } else { old - 1 })
        }
        AtomicFunction::Add => match kind {
            Type::F32 => (f32::of(old) + f32::of(operand)).bits(),
            Type::F64 => (f64::of(old) + f64::of(operand)).bits(),
            Type::F16 | Type::F16x2 => halves(HALF, kind, old, operand, |a, b| a + b),
            Type::Bf16 | Type::Bf16x2 => halves(BFLOAT, kind, old, operand, |a, b| a + b),
            _ => old.wrapping_add(operand),
        },
        AtomicFunction::Minimum | AtomicFunction::Maximum => {
            let is_less = match kind {
                Type::S32 => (old as i32) < operand as i32,
                Type::S64 => (old as i64) < operand as i64,
                Type::U32 => (old as u32) < operand as u32,
                Type::U64 => old < operand,
                _ => return None,
            };
            if is_less == (function == AtomicFunction::Minimum) { old } else { operand }
        }
    })
}

fn halves(format: Format, kind: Type, a: u64, b: u64, function: fn(f64, f64) -> f64) -> u64 {
    let parts = kind.bytes() / 2;
    (0..parts).fold(0, |result, part| {
        let value = |bits: u64| from_bits((bits >> (16 * part)) as u16, format);
        let sum = narrow(function(value(a), value(b)), format, Rounding::Nearest);
        result | u64::from(to_bits(sum, format)) << (16 * part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_operations_change_and_return() {
        let mut place = 5u32;
        let address = &raw mut place as usize;
        // SAFETY: a variable of this test.
        let run = |function, kind, operand, swapped| unsafe { atomic(function, kind, address, operand, swapped) };
        assert_eq!(run(AtomicFunction::Add, Type::U32, 3, None), Some(5));
        assert_eq!(run(AtomicFunction::CompareAndSwap, Type::B32, 8, Some(1)), Some(8));
        assert_eq!(run(AtomicFunction::CompareAndSwap, Type::B32, 8, Some(7)), Some(1));
        assert_eq!(run(AtomicFunction::Increment, Type::U32, 1, None), Some(1));
        assert_eq!(run(AtomicFunction::Decrement, Type::U32, 9, None), Some(0));
        assert_eq!(run(AtomicFunction::Minimum, Type::S32, u64::from(-4i32 as u32), None), Some(9));
        assert_eq!(run(AtomicFunction::Minimum, Type::F32, 0, None), None);
        assert_eq!(place as i32, -4);
    }
}
