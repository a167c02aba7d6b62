//! Questions about the device, which is this machine.

use crate::{error, memory};

/// # Safety
/// Both pointers are null or the caller's own variables.
pub(crate) unsafe extern "C" fn memory_info(free: *mut u64, total: *mut u64) -> i32 {
    error::guarded(|| {
        // SAFETY: `sysconf` has no precondition.
        let pages = |name| unsafe { libc::sysconf(name) }.max(0) as u64;
        let machine = pages(libc::_SC_PHYS_PAGES) * pages(libc::_SC_PAGESIZE);
        let all = machine.min(memory::device_limit());
        // As on a GPU that nobody else uses: what the program has not freed is missing.
        for (result, value) in [(free, all.saturating_sub(memory::bytes_in_use())), (total, all)] {
            if !result.is_null() {
                // SAFETY: per the contract.
                unsafe { *result = value };
            }
        }
        Ok(())
    })
}
