//! Compilers that are started end with this process, however it ends: nobody is left who would use what they make.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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
