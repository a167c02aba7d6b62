//! Questions about the device, which is this machine.

use crate::error;

/// # Safety
/// Both pointers are null or the caller's own variables.
pub(crate) unsafe extern "C" fn memory_info(free: *mut u64, total: *mut u64) -> i32 {
    error::guarded(|| {
        // SAFETY: `sysconf` has no precondition.
        let pages = |name| unsafe { libc::sysconf(name) }.max(0) as u64;
        let page = pages(libc::_SC_PAGESIZE);
        for (result, value) in [(free, libc::_SC_AVPHYS_PAGES), (total, libc::_SC_PHYS_PAGES)] {
            if !result.is_null() {
                // SAFETY: per the contract.
                unsafe { *result = pages(value) * page };
            }
        }
        Ok(())
    })
}
