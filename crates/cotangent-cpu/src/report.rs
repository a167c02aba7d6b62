//! What the runtime tells the user on standard error, and whether anything was found.

use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::{Dim, Site};
use crate::block::running_block;
use crate::checks;
use crate::failure::{Failure, file_name};

/// Findings so far; any makes the exit code of the program non-zero.
static FINDINGS: AtomicUsize = AtomicUsize::new(0);

/// Writes one message, after what the program has printed so far.
pub(crate) fn line(text: &str) {
    // SAFETY: flushing all C streams has no precondition.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Reports why a launch ended, in a run without checks. The launch is known by its place, or by the kernel's name.
pub(crate) fn launch_failed(failure: &Failure, site: Site, kernel: Option<&str>, block: Dim) {
    let Dim { x, y, z } = block;
    let launch = match kernel {
        Some(name) if site.file.is_null() => format!("of `{name}`"),
        _ => format!("at {}:{}", file_name(site), site.line),
    };
    let place = format!("in block ({x},{y},{z}) of the launch {launch}");
    match failure.code() {
        Some(code) => {
            FINDINGS.fetch_add(1, Ordering::Relaxed);
            line(&format!("error[{}]: {failure}\n  {place}", code.entry().name));
        }
        // The message of an assertion was printed where it failed.
        None if *failure == Failure::Assert => {}
        None => line(&format!("error: {failure}\n  {place}")),
    }
}

/// The program is about to be aborted: says why, and what was found, which there is no other occasion for.
///
/// # Safety
/// `reason` is a string.
pub(crate) unsafe extern "C" fn terminated(reason: *const c_char) {
    // SAFETY: per the contract.
    line(&format!("error: {}", unsafe { CStr::from_ptr(reason) }.to_string_lossy()));
    // While a kernel runs, its launch holds the checks.
    if running_block().is_none() {
        findings_of_checks();
    }
}

/// Tells what the checks have found; returns how many findings there were in all. Called once, at the end.
pub(crate) fn findings() -> usize {
    findings_of_checks() + FINDINGS.load(Ordering::Relaxed)
}

fn findings_of_checks() -> usize {
    let Some((text, errors)) = checks::findings() else { return 0 };
    if !text.is_empty() {
        line(text.trim_end());
    }
    errors
}
