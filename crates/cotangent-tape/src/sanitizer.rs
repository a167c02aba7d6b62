//! Tells the thread sanitizer when slabs change hands. A C++ program may be compiled with it while this library is
//! not: it then sees the accesses to a slab, but not the lock of ours that orders them.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

type Announce = unsafe extern "C" fn(*mut c_void);

/// This thread is done with all that it gave away under this lock or in this message.
pub(crate) fn given<T>(place: *const T) {
    static RELEASE: OnceLock<Option<Announce>> = OnceLock::new();
    announce(&RELEASE, c"__tsan_release", place.cast_mut().cast());
}

/// This thread has all that others gave there.
pub(crate) fn received<T>(place: *const T) {
    static ACQUIRE: OnceLock<Option<Announce>> = OnceLock::new();
    announce(&ACQUIRE, c"__tsan_acquire", place.cast_mut().cast());
}

fn announce(function: &OnceLock<Option<Announce>>, name: &CStr, place: *mut c_void) {
    let look_up = || {
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: the sanitizer's function of this name has this type.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Announce>(found) })
    };
    if let Some(function) = function.get_or_init(look_up) {
        // SAFETY: the sanitizer takes any address.
        unsafe { function(place) }
    }
}
