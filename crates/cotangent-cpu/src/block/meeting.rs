//! Where threads wait for each other: barriers, warp operations and the active mask, each for the
//! current thread.
//!
//! # Safety
//! For all functions of this file: `block` runs on this OS thread, and the caller is on one of its
//! coroutines. Borrows end before the coroutine stops.

use super::schedule::{fail, suspend};
use super::{Block, Pending};
use crate::abi::{Site, barrier as kinds};
use crate::failure::{Failure, same_site};
use crate::warp::{Collective, Operand, WARP_SIZE};

/// `__syncthreads` and its counting forms.
///
/// # Safety
/// See the top of the file.
#[inline]
pub(crate) unsafe fn barrier(block: *mut Block, kind: u32, predicate: bool, site: Site) -> i32 {
    // SAFETY: per the contract.
    let state = unsafe { &mut *block };
    match state.barrier.site {
        Some(first) if same_site(first, site) => {}
        None if state.live != 0 => state.barrier.site = Some(site),
        // SAFETY: per the contract.
        _ => unsafe { refuse_barrier(block, site) },
    }
    state.barrier.nonzero += u32::from(predicate);
    state.barrier.zero += u32::from(!predicate);
    if state.barrier.waiting.len() + 1 == state.live {
        state.complete_barrier();
    } else {
        state.barrier.waiting.push(state.current);
        // SAFETY: per the contract.
        unsafe { suspend(block) };
    }
    // SAFETY: per the contract.
    let (nonzero, zero) = unsafe { (*block).barrier.result };
    match kind {
        kinds::COUNT => nonzero as i32,
        kinds::AND => i32::from(zero == 0),
        kinds::OR => i32::from(nonzero != 0),
        _ => 0,
    }
}

/// Others wait at another barrier, or nobody can wait here at all.
#[cold]
unsafe fn refuse_barrier(block: *mut Block, site: Site) -> ! {
    // SAFETY: per the contract.
    let state = unsafe { &*block };
    let here = state.place(state.current, "__syncthreads", site, 1);
    let failure = match (state.barrier.site, state.barrier.waiting.as_slice()) {
        (Some(first), waiting @ [thread, ..]) => Failure::DivergentBarriers {
            first: state.place(*thread, "__syncthreads", first, waiting.len()),
            second: here,
        },
        _ => Failure::NotInKernel { place: here },
    };
    // SAFETY: per the contract.
    unsafe { fail(block, failure) }
}

/// A warp operation.
///
/// # Safety
/// See the top of the file.
#[inline]
pub(crate) unsafe fn collective(
    block: *mut Block,
    operation: Collective,
    mask: u32,
    operand: Operand,
    site: Site,
) -> u64 {
    // SAFETY: per the contract.
    let state = unsafe { &mut *block };
    let current = state.current;
    let (warp, lane) = ((current / WARP_SIZE) as usize, current % WARP_SIZE);
    if state.live == 0 || mask & (1 << lane) == 0 {
        let place = state.place(current, operation.name(), site, 1);
        let failure = match state.live {
            0 => Failure::NotInKernel { place },
            _ => Failure::MaskWithoutSelf { place, mask },
        };
        // SAFETY: per the contract.
        unsafe { fail(block, failure) };
    }
    let pending = &mut state.warps[warp].pending;
    let index = match pending.iter().position(|p| p.operation == operation && p.mask == mask) {
        Some(index) => index,
        None => {
            pending.push(Pending { operation, mask, arrived: 0, site, operands: [Operand::default(); 32] });
            pending.len() - 1
        }
    };
    pending[index].arrived |= 1 << lane;
    pending[index].operands[lane as usize] = operand;
    if !state.complete_collective(warp, index) {
        // SAFETY: per the contract.
        unsafe { suspend(block) };
    }
    // SAFETY: per the contract.
    unsafe { (&(*block).results)[current as usize] }
}

/// `__activemask()`.
///
/// # Safety
/// See the top of the file.
pub(crate) unsafe fn active_mask(block: *mut Block, site: Site) -> u32 {
    // SAFETY: per the contract.
    let state = unsafe { &mut *block };
    let current = state.current;
    if state.live == 0 {
        return 1 << (current % WARP_SIZE);
    }
    state.asking_mask.push((current, site));
    // SAFETY: per the contract.
    unsafe {
        suspend(block);
        (&(*block).results)[current as usize] as u32
    }
}
