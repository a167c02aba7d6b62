//! What becomes of a tape when things happen to its process: killed, forked, refused io_uring, out of disk. Each test
//! starts this file again as the process that it happens to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cotangent_tape::{Error, Io, Lane, OnFull, Options, Tape};

const ROLE: &str = "COTANGENT_TAPE_TEST_ROLE";
const FOLDER: &str = "COTANGENT_TAPE_TEST_FOLDER";

/// Another process of this file, in a role of `the_other_process`.
pub(crate) fn other(role: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running test has a file"));
    command.args(["--exact", "process::the_other_process", "--nocapture"]).env(ROLE, role).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Does nothing unless it was started by `other`.
#[test]
fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("set with the role"));
    match role.as_str() {
        "sweep for ever" => loop {
            sweep(&folder, Io::Uring, 100_000).expect("a disk with room");
        },
        "sweep without io_uring" => {
            refuse_io_uring();
            sweep(&folder, Io::Uring, 500_000).expect("threads in its place");
        }
        "fill the disk" => fill(&folder),
        "sixty-four lanes" => crate::budget::sixty_four_lanes(&folder),
        "clear" => clear(&folder),
        "largest file" => beyond_the_largest_file(&folder),
        "fork" => fork(&folder),
        "fork beside a thread" => fork_beside_a_thread(),
        _ => panic!("no role {role}"),
    }
}

fn options(folder: &Path, io: Io) -> Options {
    Options { slab_bytes: 64 << 10, budget_bytes: 512 << 10, spill: Some(folder.to_owned()), io, ..Options::default() }
}

fn spilling(folder: &Path, io: Io) -> Tape {
    Tape::new(options(folder, io)).expect("options of the test")
}

fn sweep(folder: &Path, io: Io, numbers: u64) -> Result<(), Error> {
    let mut lane = spilling(folder, io).lane();
    (0..numbers).try_for_each(|i| lane.push(i))?;
    (0..numbers).rev().try_for_each(|i| lane.pop().map(|value: u64| assert_eq!(value, i)))?;
    assert!(lane.stats().bytes_read > 0);
    Ok(())
}

#[test]
fn both_engines_give_everything_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for io in [Io::Uring, Io::Threads] {
        assert_eq!(sweep(folder.path(), io, 1_000_000), Ok(()));
    }
}

/// Zeros, numbers and what cannot be compressed, in turns, through the real disk: whether it pays there or not.
#[test]
fn compressed_blocks_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options { budget_bytes: 4 << 20, compress: true, ..options(folder.path(), Io::Automatic) };
    let tape = Tape::new(options).expect("options of the test");
    let mut lane = tape.lane();
    let number = |i: u64| match i / 30_000 % 3 {
        0 => 0.0,
        1 => (i as f64 * 1e-3).sin(),
        // The middle digits of a square.
        _ => (i as f64 * 0.618_033_988_749_894_9 * 1e4).powi(2).fract(),
    };
    for round in 0..3 {
        (0..2_000_000).for_each(|i| assert_eq!(lane.push(number(i)), Ok(())));
        (0..2_000_000).rev().for_each(|i| assert_eq!(lane.pop(), Ok(number(i)), "{round}"));
    }
    let stats = lane.stats();
    // The first blocks are compressed before anything can be known about the disk.
    assert!(stats.bytes_saved > 64 << 10 && stats.bytes_read > 1 << 20, "{stats:?}");
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for round in 0..200u64 {
        let mut child = other("sweep for ever", folder.path()).spawn().expect("the test starts again");
        // Some while they start, some in the middle of a sweep. Not a sleep: the child may end by itself if it is wrong.
        let until = Instant::now() + Duration::from_micros(round * 37 % 60 * 1000 + round * 13);
        while Instant::now() < until {
            assert!(child.try_wait().expect("our child").is_none(), "the sweep failed");
            std::thread::yield_now();
        }
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert_eq!(std::fs::read_dir(folder.path()).expect("our folder").count(), 0);
    }
}

#[test]
fn where_io_uring_is_refused_there_are_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("sweep without io_uring", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes the system refuse `io_uring_setup` to this process, as containers do.
fn refuse_io_uring() {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        // Load the number of the system call.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter is valid for both calls, and the second one does not return a descriptor.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter), 0);
        assert_eq!(libc::syscall(libc::SYS_io_uring_setup, 8, 0), -1);
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_signal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("fill the disk", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Pushes 64 MiB to a disk of 32 MiB: a file system of this process's own, which goes with it.
fn fill(folder: &Path) {
    let path = std::ffi::CString::new(folder.to_str().expect("a plain name")).expect("without zeros");
    // SAFETY: all strings end with a zero.
    let is_mounted = unsafe {
        (libc::unshare(libc::CLONE_NEWNS) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) == 0)
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=32m".as_ptr().cast()) == 0
    };
    assert!(is_mounted, "user namespaces must be allowed: {}", std::io::Error::last_os_error());
    for io in [Io::Uring, Io::Threads] {
        let mut lane = spilling(folder, io).lane();
        let result = (0..8u64 << 20).try_for_each(|i| lane.push(i));
        assert_eq!(result, Err(Error::DiskFull));
        assert_eq!((lane.push(1u64), lane.pop::<u64>()), (Err(Error::DiskFull), Err(Error::DiskFull)));
        lane.clear();
        drop(lane);
        // What fits is kept, byte for byte.
        assert_eq!(sweep(folder, io, 3 << 20), Ok(()));
        many_lanes_on_a_full_disk(folder, io);
    }
}

/// Four lanes want more room than a file of others leaves them, and have it when that is removed; then they want more than there ever
/// is, and each has right values or the error.
fn many_lanes_on_a_full_disk(folder: &Path, io: Io) {
    let others = folder.join("others");
    std::fs::write(&others, vec![1u8; 24 << 20]).expect("room for that");
    // Each lane may have found the disk full before the file was gone, and asks once.
    let left = Mutex::new(4);
    let on_full = OnFull::new(move |_| {
        let mut left = left.lock().expect("no panic");
        let _ = std::fs::remove_file(&others);
        *left -= 1;
        *left >= 0
    });
    let tape = Tape::new(Options { on_full: Some(on_full), ..options(folder, io) }).expect("options of the test");
    let work = |count: u64| {
        let mut lane = tape.lane();
        (0..count).try_for_each(|i| lane.push(i))?;
        (0..count).rev().try_for_each(|i| lane.pop().map(|value: u64| assert_eq!(value, i)))
    };
    let run = |count: u64| {
        std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| work(count)));
            threads.map(|thread| thread.join().expect("no panic"))
        })
    };
    // Six megabytes each.
    assert_eq!(run(3 << 18), [Ok(()); 4]);
    assert!(!folder.join("others").exists());
    let results = run(3 << 20);
    assert!(results.contains(&Err(Error::DiskFull)), "{results:?}");
    assert!(results.iter().all(|result| matches!(result, Ok(()) | Err(Error::DiskFull))), "{results:?}");
}

#[test]
fn clearing_gives_memory_and_disk_back_to_the_system() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("clear", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

fn clear(folder: &Path) {
    const BYTES: usize = 64 << 20;
    let tape = Tape::new(Options::default()).expect("options of the test");
    let mut lane = tape.lane();
    for _ in 0..2 {
        let before = resident_bytes();
        (0..BYTES / 8).for_each(|i| lane.push(i).expect("memory"));
        let most = resident_bytes();
        lane.clear();
        let left = resident_bytes();
        assert!(most - before >= BYTES && left - before < BYTES / 16, "{before}, {most}, {left}");
    }
    let mut lane = spilling(folder, Io::Automatic).lane();
    (0..200_000).for_each(|i: u64| lane.push(i).expect("a disk with room"));
    assert!(has_a_file_in(folder));
    lane.clear();
    assert!(!has_a_file_in(folder));
    (0..200_000).for_each(|i: u64| lane.push(i).expect("a disk with room"));
    (0..200_000).rev().for_each(|i: u64| assert_eq!(lane.pop(), Ok(i)));
}

/// As the system counts them.
fn resident_bytes() -> usize {
    let counts = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = counts.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number of pages");
    pages * 4096
}

/// Whether this process has a file open there, which may have no name.
fn has_a_file_in(folder: &Path) -> bool {
    let files = std::fs::read_dir("/proc/self/fd").expect("Linux").flatten();
    files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.starts_with(folder))
}

#[test]
fn a_limit_of_file_sizes_is_a_full_disk_and_no_signal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("largest file", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

fn beyond_the_largest_file(folder: &Path) {
    let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    // SAFETY: a variable of our own.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
    for io in [Io::Uring, Io::Threads] {
        assert_eq!(sweep(folder, io, 1_000_000), Err(Error::DiskFull));
        // What fits goes there.
        assert_eq!(sweep(folder, io, 150_000), Ok(()));
    }
}

#[test]
fn a_fork_leaves_the_parent_its_values() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("fork", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn fork(folder: &Path) {
    const NUMBERS: u64 = 1_000_000;
    for io in [Io::Uring, Io::Threads] {
        let tape = spilling(folder, io);
        let mut lane = tape.lane();
        (0..NUMBERS).for_each(|i| lane.push(i).expect("a disk with room"));
        // SAFETY: the child touches the lane only, which no other thread uses, and leaves without running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = if is_refused(&mut lane, NUMBERS) { 0 } else { 1 };
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child's lane must give right values and then the error");
        (0..NUMBERS).rev().for_each(|i| assert_eq!(lane.pop(), Ok(i)));
    }
}

#[test]
fn a_forked_child_does_not_wait_for_other_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = other("fork beside a thread", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Another thread is at the pool, often with its lock in hand, when the process is forked; its children go on.
fn fork_beside_a_thread() {
    let tape = Tape::new(Options { slab_bytes: 64 << 10, ..Options::default() }).expect("options of the test");
    let busy = tape.clone();
    // The shortest way to the lock and back.
    std::thread::spawn(move || while busy.peak_bytes() < usize::MAX {});
    for _ in 0..100 {
        let mut lane = tape.lane();
        (0..20_000u64).for_each(|i| lane.push(i).expect("memory"));
        // SAFETY: the child touches its lane only, which no other thread uses, and leaves without running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that waits for ever.
            unsafe { libc::alarm(10) };
            let is_right =
                (20_000..60_000u64).all(|i| lane.push(i).is_ok()) && (0..60_000u64).rev().all(|i| lane.pop() == Ok(i));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "a child waited or had wrong values");
    }
}

/// Whether a lane gives right values as far as it has them in hand, and then says that it was forked.
fn is_refused(lane: &mut Lane, numbers: u64) -> bool {
    for i in (0..numbers).rev() {
        match lane.pop::<u64>() {
            Ok(value) if value == i => {}
            Ok(_) => return false,
            Err(error) => return error == Error::Forked,
        }
    }
    false
}
