//! The calls that gcc's `-fsanitize=thread` inserts before each access of the host's code, answered here instead of by the
//! sanitizer's runtime. What concerns memory that the device may touch as well is told to the checker.
//!
//! `cotangent run --nvcc --check` compiles programs so, and links them without the flag. An access elsewhere costs one
//! comparison. Atomic operations are also carried out here.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use cotangent_cpu::check::AccessKind;

use crate::places::{caller, place_of};
use crate::runtime::api;

/// The memory whose accesses the checker is told of; empty without checks.
#[inline]
fn checked_memory() -> &'static Range<usize> {
    static CHECKED: OnceLock<Range<usize>> = OnceLock::new();
    CHECKED.get_or_init(|| {
        api();
        cotangent_cpu::memory_of_checks()
    })
}

/// Tells the checker of an access, if it concerns it.
extern "C" fn report(address: usize, bytes: usize, kind: u32, return_address: usize) {
    if checked_memory().contains(&address) {
        let kind = if kind == READ { AccessKind::Read } else { AccessKind::Write };
        cotangent_cpu::host_access(address, bytes, kind, place_of(return_address));
    }
}

const READ: u32 = 0;
const WRITE: u32 = 1;

/// A callback for accesses of a size: it adds to the address the size, the kind, and where the call returns to, which no
/// function of Rust can ask for.
macro_rules! accesses {
    ($($kind:ident $bytes:literal: $($name:ident)*;)*) => {
        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name(_address: *const c_void) {
                std::arch::naked_asm!(
                    "mov esi, {bytes}",
                    "mov edx, {kind}",
                    "mov rcx, [rsp]",
                    "jmp {report}",
                    bytes = const $bytes,
                    kind = const $kind,
                    report = sym report,
                )
            }
        )*)*
    };
}

accesses! {
    READ 1: __tsan_read1 __tsan_volatile_read1;
    READ 2: __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2;
    READ 4: __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4;
    READ 8: __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8 __tsan_vptr_read;
    READ 16: __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16;
    WRITE 1: __tsan_write1 __tsan_volatile_write1;
    WRITE 2: __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2;
    WRITE 4: __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4;
    WRITE 8: __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8 __tsan_vptr_update;
    WRITE 16: __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16;
}

/// Callbacks for accesses whose size is the second argument.
macro_rules! ranges {
    ($($kind:ident: $name:ident;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name(_address: *const c_void, _bytes: usize) {
                std::arch::naked_asm!(
                    "mov edx, {kind}",
                    "mov rcx, [rsp]",
                    "jmp {report}",
                    kind = const $kind,
                    report = sym report,
                )
            }
        )*
    };
}

ranges! {
    READ: __tsan_read_range;
    WRITE: __tsan_write_range;
}

/// A whole operation, rare enough for a walk over the stack.
fn report_whole(address: *const c_void, bytes: usize, kind: AccessKind) {
    if checked_memory().contains(&(address as usize)) {
        cotangent_cpu::host_access(address as usize, bytes, kind, caller());
    }
}

// Functions of C's library, under the names that `--wrap` has the linker give the program's calls of them.

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    report_whole(from, bytes, AccessKind::Read);
    report_whole(to, bytes, AccessKind::Write);
    // SAFETY: the program's own call.
    unsafe { libc::memcpy(to, from, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    report_whole(from, bytes, AccessKind::Read);
    report_whole(to, bytes, AccessKind::Write);
    // SAFETY: the program's own call.
    unsafe { libc::memmove(to, from, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void {
    report_whole(to, bytes, AccessKind::Write);
    // SAFETY: the program's own call.
    unsafe { libc::memset(to, byte, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_return_address: *const c_void) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    fence(Ordering::SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    compiler_fence(Ordering::SeqCst);
}

/// Before an atomic operation.
fn report_atomic<T>(address: *mut T) {
    report_whole(address.cast(), size_of::<T>(), AccessKind::Atomic);
}

/// Atomic operations of one size.
macro_rules! atomics {
    ($($integer:ty, $atomic:ty: $load:ident $store:ident $strong:ident $weak:ident $($update:ident $method:ident)*;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $load(address: *mut $integer, _order: c_int) -> $integer {
                report_atomic(address);
                // SAFETY: the program's own atomic variable.
                unsafe { <$atomic>::from_ptr(address) }.load(Ordering::SeqCst)
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $store(address: *mut $integer, value: $integer, _order: c_int) {
                report_atomic(address);
                // SAFETY: the program's own atomic variable.
                unsafe { <$atomic>::from_ptr(address) }.store(value, Ordering::SeqCst);
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $strong(
                address: *mut $integer,
                expected: *mut $integer,
                value: $integer,
                _success: c_int,
                _failure: c_int,
            ) -> c_int {
                report_atomic(address);
                // SAFETY: the program's own variables.
                let (atomic, expected) = unsafe { (<$atomic>::from_ptr(address), &mut *expected) };
                match atomic.compare_exchange(*expected, value, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => 1,
                    Err(found) => {
                        *expected = found;
                        0
                    }
                }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $weak(
                address: *mut $integer,
                expected: *mut $integer,
                value: $integer,
                success: c_int,
                failure: c_int,
            ) -> c_int {
                // SAFETY: per the same contract.
                unsafe { $strong(address, expected, value, success, failure) }
            }

            $(
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $update(address: *mut $integer, value: $integer, _order: c_int) -> $integer {
                    report_atomic(address);
                    // SAFETY: the program's own atomic variable.
                    unsafe { <$atomic>::from_ptr(address) }.$method(value, Ordering::SeqCst)
                }
            )*
        )*
    };
}

atomics! {
    u8, AtomicU8:
        __tsan_atomic8_load __tsan_atomic8_store
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_exchange swap __tsan_atomic8_fetch_add fetch_add
        __tsan_atomic8_fetch_sub fetch_sub __tsan_atomic8_fetch_and fetch_and
        __tsan_atomic8_fetch_or fetch_or __tsan_atomic8_fetch_xor fetch_xor
        __tsan_atomic8_fetch_nand fetch_nand;
    u16, AtomicU16:
        __tsan_atomic16_load __tsan_atomic16_store
        __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_exchange swap __tsan_atomic16_fetch_add fetch_add
        __tsan_atomic16_fetch_sub fetch_sub __tsan_atomic16_fetch_and fetch_and
        __tsan_atomic16_fetch_or fetch_or __tsan_atomic16_fetch_xor fetch_xor
        __tsan_atomic16_fetch_nand fetch_nand;
    u32, AtomicU32:
        __tsan_atomic32_load __tsan_atomic32_store
        __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_exchange swap __tsan_atomic32_fetch_add fetch_add
        __tsan_atomic32_fetch_sub fetch_sub __tsan_atomic32_fetch_and fetch_and
        __tsan_atomic32_fetch_or fetch_or __tsan_atomic32_fetch_xor fetch_xor
        __tsan_atomic32_fetch_nand fetch_nand;
    u64, AtomicU64:
        __tsan_atomic64_load __tsan_atomic64_store
        __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_exchange swap __tsan_atomic64_fetch_add fetch_add
        __tsan_atomic64_fetch_sub fetch_sub __tsan_atomic64_fetch_and fetch_and
        __tsan_atomic64_fetch_or fetch_or __tsan_atomic64_fetch_xor fetch_xor
        __tsan_atomic64_fetch_nand fetch_nand;
}
