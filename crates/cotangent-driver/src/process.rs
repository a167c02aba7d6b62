//! Processes that are started. Compilers end with this process, however it ends: nobody is left who would use what they
//! make. Others have a limit of time, or wait for their turn.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Has the system kill what the command starts when the thread that starts it ends, which waits for it. Compilers start
/// processes of their own, which this does not reach; they end when they have nothing left to do.
pub fn ends_with_us(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    let before_it_runs = move || {
        // SAFETY: system calls that touch no memory, as is demanded between fork and exec.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // It may have ended before the system was asked.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(before_it_runs) }
}

/// Runs a command that reads nothing. None if it takes longer than the limit: it is ended then, with all that it started.
pub fn run_within(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    // A group of its own, so that what it starts can be ended with it.
    let mut child = ends_with_us(command).process_group(0).stdin(Stdio::null()).spawn()?;
    let group = child.id() as libc::pid_t;
    let (ended, is_ended) = channel::<()>();
    let is_late = std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let is_late = is_ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if is_late {
                // SAFETY: the child leads the group and is not reaped before this thread has ended: no other has its number.
                unsafe { libc::killpg(group, libc::SIGKILL) };
            }
            is_late
        });
        wait_unreaped(group);
        drop(ended);
        watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let status = child.wait()?;
    Ok((!is_late).then_some(status))
}

/// Waits for the end of a child, whose number stays its own.
fn wait_unreaped(child: libc::pid_t) {
    loop {
        // SAFETY: a system call that writes to a value of ours, for which zeros are valid.
        let (ended, _info) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (libc::waitid(libc::P_PID, child as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT), info)
        };
        if ended == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Waits until no other process has the file of this name locked, and locks it until the result is dropped.
pub fn turn(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    loop {
        // SAFETY: a system call on a file that is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
            return Ok(file);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_process_that_takes_too_long_is_ended_with_what_it_started() {
        let mut command = Command::new("bash");
        let started = Instant::now();
        let ended = run_within(command.args(["-c", "sleep 60 & wait"]), Duration::from_millis(50)).unwrap();
        assert_eq!(ended, None);
        assert!(started.elapsed() < Duration::from_secs(30));
        let mut command = Command::new("bash");
        let ended = run_within(command.args(["-c", "exit 7"]), Duration::from_secs(60)).unwrap();
        assert_eq!(ended.and_then(|status| status.code()), Some(7));
    }

    #[test]
    fn turns_are_taken_one_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = turn(&path).unwrap();
        let (took, taken) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = turn(&path).unwrap();
                took.send(()).unwrap();
            });
            assert!(taken.recv_timeout(Duration::from_millis(50)).is_err(), "two have the turn");
            drop(first);
            taken.recv().unwrap();
        });
    }
}
