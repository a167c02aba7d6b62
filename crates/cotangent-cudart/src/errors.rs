//! The last error of a thread, and what errors are called.

use std::ffi::c_char;

use crate::runtime::api;

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> i32 {
    (api().take_error)()
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> i32 {
    (api().peek_error)()
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(error: i32) -> *const c_char {
    (api().error_name)(error)
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(error: i32) -> *const c_char {
    (api().error_text)(error)
}
