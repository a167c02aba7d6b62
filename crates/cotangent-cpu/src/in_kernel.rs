//! What a program calls in the middle of a kernel: barriers, warp operations, assertions, and in a checked run each access.
//! The host's code calls some of them too, on its side.

use std::ffi::{CStr, c_char, c_void};

use crate::abi::Site;
use crate::block::{self, Block, running_block};
use crate::check::{Access, AccessKind, Copy, Site as CheckSite, Verdict};
use crate::checks::{self, Checks};
use crate::failure::{Failure, Place, file_name};
use crate::report;
use crate::warp::{Collective, Operand};

/// # Safety
/// `file` is a string of the loaded program. The same for the other functions that take one.
pub(crate) unsafe extern "C" fn barrier(kind: u32, predicate: i32, file: *const c_char, line: u32) -> i32 {
    match running_block() {
        // SAFETY: kernel code runs on this OS thread, on a coroutine of this block.
        Some(block) => unsafe { block::barrier(block, kind, predicate != 0, Site { file, line }) },
        None => 0,
    }
}

pub(crate) unsafe extern "C" fn collective(
    operation: u32,
    mask: u32,
    value: u64,
    argument: u32,
    width: u32,
    file: *const c_char,
    line: u32,
) -> u64 {
    match (running_block(), Collective::from_raw(operation)) {
        // SAFETY: as in `barrier`.
        (Some(block), Some(operation)) => unsafe {
            block::collective(block, operation, mask, Operand { value, argument, width }, Site { file, line })
        },
        _ => 0,
    }
}

pub(crate) unsafe extern "C" fn active_mask(file: *const c_char, line: u32) -> u32 {
    // SAFETY: as in `barrier`.
    running_block().map_or(1, |block| unsafe { block::active_mask(block, Site { file, line }) })
}

/// Prints what CUDA prints for a failing assertion and ends the launch; returns on the host.
pub(crate) unsafe extern "C" fn assert_failed(
    expression: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) {
    let Some(block) = running_block() else { return };
    // SAFETY: string literals of the loaded program.
    let text = |pointer: *const c_char| unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
    // SAFETY: as in `barrier`.
    let thread = unsafe { (*block).position() };
    report::line(&format!(
        "{}:{line}: {}: {thread} Assertion `{}` failed.",
        text(file),
        text(function),
        text(expression)
    ));
    // SAFETY: as in `barrier`.
    unsafe { block::fail(block, Failure::Assert) }
}

pub(crate) unsafe extern "C" fn trap(file: *const c_char, line: u32) {
    let Some(block) = running_block() else { return };
    // SAFETY: as in `barrier`.
    let thread = unsafe { (*block).current_thread().1 };
    let place = Place { what: "__trap".into(), file: file_name(Site { file, line }), line, thread, count: 1 };
    // SAFETY: as in `barrier`.
    unsafe { block::fail(block, Failure::Trap { place }) }
}

/// The checks of the running block, and the current thread.
///
/// # Safety
/// `block` runs on this OS thread.
unsafe fn of_block(block: *mut Block) -> Option<(&'static mut Checks, u32)> {
    // SAFETY: per the contract; the launch that runs holds the lock of the checks.
    unsafe { (*block).checks().map(|checks| (&mut *checks, (*block).current_thread().0)) }
}

/// Ends the launch if the verdict says so.
///
/// # Safety
/// `block` runs on this OS thread, the caller is on one of its coroutines.
unsafe fn obey(block: *mut Block, verdict: Verdict) {
    if verdict == Verdict::Fatal {
        // SAFETY: per the contract.
        unsafe { block::fail(block, Failure::InvalidAccess) }
    }
}

/// # Safety
/// Called by the instrumented program, on the side that `running_block` tells.
pub(crate) unsafe extern "C" fn access(
    address: *const c_void,
    bytes: u64,
    kind: u32,
    alignment: u32,
    pc: *const c_void,
) {
    let kind = match kind {
        0 => AccessKind::Read,
        1 => AccessKind::Write,
        _ => AccessKind::Atomic,
    };
    let access = Access {
        address: address as usize,
        size: bytes as usize,
        kind,
        alignment: alignment.max(1) as usize,
        site: CheckSite::Address(pc as usize),
    };
    let Some(block) = running_block() else {
        // The memory exists, so the host goes on after the finding.
        let _ = checks::with(|checks| checks.order().host_access(access));
        return;
    };
    // SAFETY: kernel code runs on this OS thread, on a coroutine of this block.
    unsafe {
        if let Some((checks, thread)) = of_block(block) {
            obey(block, checks.order().access(thread, access));
        }
    }
}

/// # Safety
/// As for [`access`].
pub(crate) unsafe extern "C" fn access_copy(to: *const c_void, from: *const c_void, bytes: u64, pc: *const c_void) {
    let site = CheckSite::Address(pc as usize);
    let copy = Copy { destination: to as usize, source: from as usize, size: bytes as usize, site };
    let Some(block) = running_block() else {
        let side = |address, kind| Access { address, size: copy.size, kind, alignment: 1, site };
        let _ = checks::with(|checks| {
            let _ = checks.order().host_access(side(copy.source, AccessKind::Read));
            checks.order().host_access(side(copy.destination, AccessKind::Write))
        });
        return;
    };
    // SAFETY: as in `access`.
    unsafe {
        if let Some((checks, thread)) = of_block(block) {
            obey(block, checks.order().copy(thread, copy));
        }
    }
}
