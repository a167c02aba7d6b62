//! The file of a lane: without a name, so that it goes with the process, and past the page cache, so that the tape does
//! not use memory which nobody gave it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Direct I/O goes on at multiples of this only.
pub(crate) const SECTOR: usize = 4096;

/// Opens a nameless file in the folder. File systems without direct I/O get the usual one.
pub(crate) fn open(folder: &Path) -> io::Result<File> {
    nameless(folder, libc::O_DIRECT).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => nameless(folder, 0),
        _ => Err(error),
    })
}

/// Makes room from `offset` on, so that a full disk is found here and not in the middle of a transfer. Beyond the largest file that the
/// process may have, the system would send it a signal.
pub(crate) fn reserve(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    if offset + bytes > largest_file() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    loop {
        // SAFETY: the file is open; the call touches no memory.
        let result = unsafe { libc::fallocate(file.as_raw_fd(), 0, offset as i64, bytes as i64) };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // Cannot be done beforehand on this file system; then writing will tell.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(()),
            _ => return Err(error),
        }
    }
}

/// The size of the largest file that the process may have.
fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a variable of our own.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

fn nameless(folder: &Path, direct: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | direct);
    options.open(folder).or_else(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EISDIR) => unlinked(folder, direct),
        _ => Err(error),
    })
}

/// For file systems without `O_TMPFILE`: a file that loses its name at once.
fn unlinked(folder: &Path, direct: i32) -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".cotangent-tape-{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600).custom_flags(direct);
    let file = options.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_no_names() {
        let folder = tempfile::tempdir().unwrap();
        let _first = open(folder.path()).unwrap();
        let _second = unlinked(folder.path(), 0).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(open(Path::new("/nowhere/at/all")).is_err());
    }
}
