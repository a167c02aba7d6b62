//! The C ABI: what `include/cotangent/tape.h` declares. No panic leaves it: a lane in which one happens has the error
//! [`Error::Panicked`] from then on. A null lane does nothing and gives [`Error::Empty`] or null.

pub mod device;
pub mod schedule;

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;

use crate::device::DeviceLane;
use crate::disk::Io;
use crate::error::Error;
use crate::lane::{Lane, Window};
use crate::mark::Mark;
use crate::objects::Foreign;
use crate::progress::Progress;
use crate::stats::Stats;
use crate::store::OnFull;
use crate::tape::{Options, Tape};

/// `cotangent_tape_options`: zero stands for the default.
#[repr(C)]
pub struct COptions {
    slab_bytes: usize,
    budget_bytes: usize,
    spill: *const c_char,
    /// Further folders up to a null, or null.
    spill_more: *const *const c_char,
    /// Not zero: io_uring where it is allowed.
    use_io_uring: u32,
    progress: Option<unsafe extern "C" fn(*mut c_void, *const Progress)>,
    full: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int>,
    context: *mut c_void,
    /// Not zero: blocks are compressed as long as that pays.
    compress: u32,
}

/// `cotangent_tape_stats`.
#[repr(C)]
#[derive(Default)]
pub struct CStats {
    bytes_written: u64,
    bytes_read: u64,
    hits: u64,
    stalls: u64,
    stalled_ns: u64,
    bytes_saved: u64,
    times_given_up: u64,
}

impl From<Stats> for CStats {
    fn from(stats: Stats) -> Self {
        let Stats { bytes_written, bytes_read, hits, stalls, stalled, bytes_saved, times_given_up } = stats;
        let stalled_ns = stalled.as_nanos() as u64;
        CStats { bytes_written, bytes_read, hits, stalls, stalled_ns, bytes_saved, times_given_up }
    }
}

/// Whatever the caller wants to see again in the callback.
struct Context(*mut c_void);

// SAFETY: the caller promises that the callback may be called by any thread that uses a lane.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Opens a tape. If the folder is why it cannot, `errno` says what the system said.
///
/// # Safety
/// `options` is null or leads to options, whose folders are null or end with a zero, whose list of them is null or ends with a null, and
/// whose callbacks may be called with the context by every thread that uses a lane; `tape` leads to a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_tape_open(options: *const COptions, tape: *mut *mut Tape) -> u32 {
    let open = || {
        // SAFETY: promised by the caller.
        let Some(given) = (unsafe { options.as_ref() }) else { return Tape::new(Options::default()) };
        // SAFETY: promised by the caller.
        let options = unsafe { read_options(given) };
        let Some(progress) = given.progress else { return Tape::new(options) };
        let context = Context(given.context);
        // SAFETY: promised by the caller.
        Tape::watched(options, move |now| unsafe { progress(context.get(), &raw const now) })
    };
    let mut errno = 0;
    let noted = || open().inspect_err(|error| errno = error.errno());
    // SAFETY: promised by the caller, and the calling thread's own variable.
    unsafe {
        let status = give(noted, tape);
        if errno != 0 {
            *libc::__errno_location() = errno;
        }
        status
    }
}

/// # Safety
/// As for `cotangent_tape_open`.
unsafe fn read_options(options: &COptions) -> Options {
    let default = Options::default();
    Options {
        slab_bytes: or(options.slab_bytes, default.slab_bytes),
        budget_bytes: or(options.budget_bytes, default.budget_bytes),
        // SAFETY: promised by the caller.
        spill: (!options.spill.is_null()).then(|| unsafe { path(options.spill) }),
        // SAFETY: promised by the caller.
        spill_more: unsafe { paths(options.spill_more) },
        on_full: options.full.map(|full| {
            let context = Context(options.context);
            OnFull::new(move |folder| {
                let folder = CString::new(folder.as_os_str().as_bytes()).unwrap_or_default();
                // SAFETY: promised by the caller.
                unsafe { full(context.get(), folder.as_ptr()) != 0 }
            })
        }),
        io: if options.use_io_uring == 0 { default.io } else { Io::Uring },
        compress: options.compress != 0,
    }
}

/// # Safety
/// `list` is null, or ends with a null; its strings end with a zero.
unsafe fn paths(mut list: *const *const c_char) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    // SAFETY: promised by the caller; the end is not passed.
    unsafe {
        while !list.is_null() && !(*list).is_null() {
            paths.push(path(*list));
            list = list.add(1);
        }
    }
    paths
}

/// # Safety
/// The name ends with a zero.
unsafe fn path(name: *const c_char) -> PathBuf {
    // SAFETY: promised by the caller.
    let name = unsafe { CStr::from_ptr(name) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Closes a tape. Its lanes go on.
///
/// # Safety
/// `tape` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_tape_close(tape: *mut Tape) {
    // SAFETY: `open` made it a box.
    unsafe { close(tape) }
}

/// Opens a lane; null only if there is no tape.
///
/// # Safety
/// `tape` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_open(tape: *mut Tape) -> *mut Lane {
    let open = || {
        // SAFETY: promised by the caller.
        let tape = unsafe { tape.as_ref() }?;
        Some(Box::into_raw(Box::new(tape.lane())))
    };
    catch_unwind(AssertUnwindSafe(open)).ok().flatten().unwrap_or(ptr::null_mut())
}

/// Closes a lane; its objects are destroyed. An error that nobody has read is told now, for what was popped after it is zero.
///
/// # Safety
/// `lane` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_close(lane: *mut Lane) {
    // SAFETY: promised by the caller.
    let unread = unsafe { lane.as_ref() }.filter(|lane| !lane.is_told).and_then(|lane| lane.error);
    if let Some(error) = unread {
        eprintln!("cotangent: a lane is closed with an error that nobody has read: {error}");
    }
    // SAFETY: `open` made it a box.
    unsafe { close(lane) }
}

/// Pushes bytes over the end of the slab.
///
/// # Safety
/// `lane` is null or open and used by this thread only; `from` leads to so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_push(lane: *mut Lane, from: *const c_void, bytes: usize) {
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| lane.push_slow(from.cast(), bytes)) }
}

/// Pops bytes from below the beginning of the slab; zeros if there is an error.
///
/// # Safety
/// `lane` is null or open and used by this thread only; `to` leads to so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_pop(lane: *mut Lane, to: *mut c_void, bytes: usize) {
    let zeros = || {
        // SAFETY: promised by the caller.
        unsafe { ptr::write_bytes(to.cast::<u8>(), 0, bytes) }
    };
    // SAFETY: promised by the caller.
    let was_popped = unsafe { on(lane, false, |lane| lane.pop_slow(to.cast(), bytes).is_ok()) };
    if !was_popped && isize::try_from(bytes).is_ok() {
        zeros();
    }
}

/// The present end.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_mark(lane: *mut Lane) -> Mark {
    // SAFETY: promised by the caller.
    unsafe { on(lane, Mark::NOWHERE, Lane::mark) }
}

/// Forgets all above a mark.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_rewind(lane: *mut Lane, mark: Mark) {
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| lane.rewind(mark)) }
}

/// Begins to read again.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_hold(lane: *mut Lane) {
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| lane.hold()) }
}

/// Goes on reading from a mark.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_seek(lane: *mut Lane, mark: Mark) {
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| lane.seek(mark)) }
}

/// Ends reading again.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_release(lane: *mut Lane) {
    // SAFETY: promised by the caller.
    unsafe { on(lane, (), |lane| lane.release()) }
}

/// Bytes on the lane.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_position(lane: *mut Lane) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { on(lane, 0, |lane| lane.position()) }
}

/// The first error's number, or zero.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_status(lane: *mut Lane) -> u32 {
    // SAFETY: promised by the caller.
    unsafe {
        on(lane, Error::Empty.code(), |lane| {
            lane.is_told = true;
            lane.error.map_or(0, Error::code)
        })
    }
}

/// The system's number for the lane's error on disk, or zero.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_errno(lane: *mut Lane) -> i32 {
    // SAFETY: promised by the caller.
    unsafe { on(lane, 0, |lane| lane.error.map_or(0, Error::errno)) }
}

/// The folder that the lane's error is about, as it was given, or the first that it spills to; null if there is none. It is the lane's.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_folder(lane: *mut Lane) -> *const c_char {
    let folder = |lane: &mut Lane| lane.store.folder().map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: promised by the caller.
    unsafe { on(lane, ptr::null(), folder) }
}

/// What the lane has cost so far.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_stats(lane: *mut Lane) -> CStats {
    // SAFETY: promised by the caller.
    unsafe { on(lane, CStats::default(), |lane| lane.stats().into()) }
}

/// The most memory that the lanes of a tape ever had at a time.
///
/// # Safety
/// `tape` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_tape_peak_bytes(tape: *const Tape) -> usize {
    // SAFETY: promised by the caller.
    unsafe { tape.as_ref() }.map_or(0, Tape::peak_bytes)
}

/// Forgets all values and the error. A cursor would go on where they were, so that is an error while there is one.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_clear(lane: *mut Lane) {
    let clear = |lane: &mut Lane| match lane.cursors {
        0 => lane.clear(),
        _ => drop(lane.fail(Error::Cursor)),
    };
    // SAFETY: promised by the caller.
    unsafe { on(lane, (), clear) }
}

/// A second cursor of a lane is an error.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_second_cursor(lane: *mut Lane) {
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| Err(lane.fail(Error::Cursor))) }
}

/// Gives an object to the side lane. If it cannot be kept it is destroyed at once. `kind` stands for its type.
///
/// # Safety
/// `lane` is null or open and used by this thread only; `destroy` is null, or may be called once with `object`, by
/// this thread, and does not throw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_push_object(
    lane: *mut Lane,
    object: *mut c_void,
    kind: *const c_void,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
) {
    // SAFETY: promised by the caller.
    let object = unsafe { Foreign::new(object, kind as usize, destroy) };
    // SAFETY: promised by the caller.
    unsafe { act(lane, |lane| lane.push_object(object)) }
}

/// Takes the last object off the side lane; the caller owns it. Null, and an error that counts as told, if there is none of this kind.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_pop_object(lane: *mut Lane, kind: *const c_void) -> *mut c_void {
    let pop = |lane: &mut Lane| match top_of_kind(lane, kind) {
        Some(_) => lane.pop_object::<Foreign>().map_or(ptr::null_mut(), Foreign::release),
        None => ptr::null_mut(),
    };
    // SAFETY: promised by the caller.
    unsafe { on(lane, ptr::null_mut(), pop) }
}

/// The last object of the side lane, which keeps it. Null, and an error that counts as told, if there is none of this kind.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_lane_top_object(lane: *mut Lane, kind: *const c_void) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe { on(lane, ptr::null_mut(), |lane| top_of_kind(lane, kind).unwrap_or(ptr::null_mut())) }
}

/// Where the object on top lies, if it is of this kind. Otherwise the caller, who gets null, is told.
fn top_of_kind(lane: &mut Lane, kind: *const c_void) -> Option<*mut c_void> {
    let top = lane.status().and_then(|()| lane.objects.top::<Foreign>());
    let found = top.ok().filter(|object| object.kind() == kind as usize).map(|object| object.address());
    if found.is_none() {
        lane.fail(Error::Object);
        lane.is_told = true;
    }
    found
}

/// Sizes, offsets and numbers of the header, as C spells them and as Rust has them; for the test that compares them.
#[doc(hidden)]
pub fn layout() -> Vec<(&'static str, usize)> {
    let lanes = [
        ("sizeof(cotangent_cursor)", size_of::<Window>()),
        ("offsetof(cotangent_lane, cursor)", offset_of!(Lane, window)),
        ("offsetof(cotangent_cursor, cur)", offset_of!(Window, cur)),
        ("offsetof(cotangent_cursor, lo)", offset_of!(Window, lo)),
        ("offsetof(cotangent_cursor, hi)", offset_of!(Window, hi)),
        ("offsetof(cotangent_lane, cursors)", offset_of!(Lane, cursors)),
        ("sizeof(cotangent_mark)", size_of::<Mark>()),
        ("offsetof(cotangent_mark, position)", offset_of!(Mark, position)),
        ("offsetof(cotangent_mark, number)", offset_of!(Mark, number)),
        ("offsetof(cotangent_mark, objects)", offset_of!(Mark, objects)),
        ("offsetof(cotangent_mark, lane)", offset_of!(Mark, lane)),
        ("sizeof(cotangent_tape_options)", size_of::<COptions>()),
        ("offsetof(cotangent_tape_options, slab_bytes)", offset_of!(COptions, slab_bytes)),
        ("offsetof(cotangent_tape_options, budget_bytes)", offset_of!(COptions, budget_bytes)),
        ("offsetof(cotangent_tape_options, spill)", offset_of!(COptions, spill)),
        ("offsetof(cotangent_tape_options, spill_more)", offset_of!(COptions, spill_more)),
        ("offsetof(cotangent_tape_options, full)", offset_of!(COptions, full)),
        ("offsetof(cotangent_tape_options, use_io_uring)", offset_of!(COptions, use_io_uring)),
        ("offsetof(cotangent_tape_options, progress)", offset_of!(COptions, progress)),
        ("offsetof(cotangent_tape_options, context)", offset_of!(COptions, context)),
        ("offsetof(cotangent_tape_options, compress)", offset_of!(COptions, compress)),
        ("sizeof(cotangent_tape_progress)", size_of::<Progress>()),
        ("offsetof(cotangent_tape_progress, bytes)", offset_of!(Progress, bytes)),
        ("offsetof(cotangent_tape_progress, bytes_on_disk)", offset_of!(Progress, bytes_on_disk)),
        ("offsetof(cotangent_tape_progress, lane)", offset_of!(Progress, lane)),
        ("sizeof(cotangent_tape_stats)", size_of::<CStats>()),
        ("offsetof(cotangent_tape_stats, bytes_written)", offset_of!(CStats, bytes_written)),
        ("offsetof(cotangent_tape_stats, bytes_read)", offset_of!(CStats, bytes_read)),
        ("offsetof(cotangent_tape_stats, hits)", offset_of!(CStats, hits)),
        ("offsetof(cotangent_tape_stats, stalls)", offset_of!(CStats, stalls)),
        ("offsetof(cotangent_tape_stats, stalled_ns)", offset_of!(CStats, stalled_ns)),
        ("offsetof(cotangent_tape_stats, bytes_saved)", offset_of!(CStats, bytes_saved)),
        ("offsetof(cotangent_tape_stats, times_given_up)", offset_of!(CStats, times_given_up)),
        ("COTANGENT_TAPE_EMPTY", Error::Empty.code() as usize),
        ("COTANGENT_TAPE_HELD", Error::Held.code() as usize),
        ("COTANGENT_TAPE_MARK", Error::Mark.code() as usize),
        ("COTANGENT_TAPE_OBJECT", Error::Object.code() as usize),
        ("COTANGENT_TAPE_OPTIONS", Error::Options.code() as usize),
        ("COTANGENT_TAPE_MEMORY", Error::Memory.code() as usize),
        ("COTANGENT_TAPE_BUDGET", Error::Budget.code() as usize),
        ("COTANGENT_TAPE_PANICKED", Error::Panicked.code() as usize),
        ("COTANGENT_TAPE_DISK_FULL", Error::DiskFull.code() as usize),
        ("COTANGENT_TAPE_DISK", Error::Disk { errno: 0 }.code() as usize),
        ("COTANGENT_TAPE_CORRUPT", Error::Corrupt.code() as usize),
        ("COTANGENT_TAPE_STALE", Error::Stale.code() as usize),
        ("COTANGENT_TAPE_FORKED", Error::Forked.code() as usize),
        ("COTANGENT_TAPE_SIZE", Error::Size.code() as usize),
        ("COTANGENT_TAPE_DEVICE", Error::Device { code: 0 }.code() as usize),
        ("COTANGENT_TAPE_CURSOR", Error::Cursor.code() as usize),
    ];
    [&lanes[..], &device::layout(), &schedule::layout()].concat()
}

/// What a status means and what to do about it; for people.
#[unsafe(no_mangle)]
pub extern "C" fn cotangent_tape_message(status: u32) -> *const c_char {
    let message = MESSAGES.get(status as usize).copied().unwrap_or(c"no status of the tape library");
    message.as_ptr()
}

/// By [`Error::code`]. C wants a zero at the end; a test compares the texts.
const MESSAGES: &[&CStr] = &[
    c"no error",
    c"more was popped than had been pushed; the reverse sweep must take what the forward sweep gave",
    c"pushed while the lane is being read again; end the re-reading first",
    c"the mark does not lie on this lane (any more)",
    c"the object on top of the side lane is of another type, or there is none",
    c"a slab must be a power of two between 64 KiB and 1 GiB, and the budget at least four slabs beside what compression needs, which works through threads only; see `Options`",
    c"no memory for another slab; set a budget and a folder to spill to",
    c"the budget is used up; raise it, or name a folder to spill to; with one, a lane needs a slab, and another while it is read again",
    c"internal error of the tape library; please report it",
    c"no room on disk to spill to; free some, or name another folder",
    c"the file that the tape spills to could not be opened, written or read; errno says why",
    c"a block came back changed from disk; do not trust this disk",
    c"an old block came back from disk in place of the one written last; do not trust this disk",
    c"the process was forked after the lane had spilled; only the parent can use it",
    c"an array of another size was popped than had been pushed, or of one that no memory has; pop what was pushed last, with its size",
    c"the device's runtime failed to allocate, order or copy; its own code says why",
    c"a lane is used beside a cursor of it; hand the cursor on instead",
    c"a checkpoint schedule needs a kind, at least one slot, costs from zero to 10^9, and nothing that its kind does not have",
    c"the loop ended at another step than its checkpoint schedule allows; for a loop of unknown length use the online one",
    c"a mixed checkpoint schedule needs functions that keep and use records; define them, or take another kind",
];

/// # Safety
/// `boxed` is null or was a box.
unsafe fn close<T>(boxed: *mut T) {
    if !boxed.is_null() {
        // SAFETY: promised by the caller.
        let boxed = unsafe { Box::from_raw(boxed) };
        // A panic while it is dropped leaks memory, and nobody is left to be told.
        drop(catch_unwind(AssertUnwindSafe(|| drop(boxed))));
    }
}

/// Runs `action` on a lane, which keeps the error if there is one.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
unsafe fn act(lane: *mut Lane, action: impl FnOnce(&mut Lane) -> Result<(), Error>) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), action) };
}

/// What keeps its first error.
trait Fallible {
    fn fail(&mut self, error: Error);
}

impl Fallible for Lane {
    fn fail(&mut self, error: Error) {
        self.fail(error);
    }
}

impl Fallible for DeviceLane {
    fn fail(&mut self, error: Error) {
        self.fail(error);
    }
}

/// Runs `action` on a lane of either kind; what it panics with becomes the lane's error, and its result `otherwise`.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
unsafe fn on<L: Fallible, R>(lane: *mut L, otherwise: R, action: impl FnOnce(&mut L) -> R) -> R {
    // SAFETY: promised by the caller.
    let Some(lane) = (unsafe { lane.as_mut() }) else { return otherwise };
    match catch_unwind(AssertUnwindSafe(|| action(lane))) {
        Ok(result) => result,
        Err(_) => {
            Fallible::fail(lane, Error::Panicked);
            otherwise
        }
    }
}

/// Puts what is opened into a place, or null, and gives the error's number.
///
/// # Safety
/// `place` leads to a place for the result.
unsafe fn give<T>(open: impl FnOnce() -> Result<T, Error>, place: *mut *mut T) -> u32 {
    let (opened, code) = match catch_unwind(AssertUnwindSafe(open)).unwrap_or(Err(Error::Panicked)) {
        Ok(opened) => (Box::into_raw(Box::new(opened)), 0),
        Err(error) => (ptr::null_mut(), error.code()),
    };
    // SAFETY: promised by the caller.
    unsafe { *place = opened };
    code
}

/// A number of options, of which zero stands for the default.
fn or(value: usize, default: usize) -> usize {
    if value == 0 { default } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_message_in_c() {
        let all = [
            Error::Empty,
            Error::Held,
            Error::Mark,
            Error::Object,
            Error::Options,
            Error::Memory,
            Error::Budget,
            Error::Panicked,
            Error::DiskFull,
            Error::Disk { errno: 5 },
            Error::Corrupt,
            Error::Stale,
            Error::Forked,
            Error::Size,
            Error::Device { code: 2 },
            Error::Cursor,
            Error::Slots,
            Error::Ended,
            Error::Record,
        ];
        assert_eq!(MESSAGES.len(), all.len() + 1);
        for error in all {
            assert_eq!(MESSAGES[error.code() as usize].to_str().unwrap(), error.to_string());
        }
    }

    #[test]
    fn a_panic_becomes_the_error_of_its_lane() {
        let tape = Tape::new(Options::default()).unwrap();
        let mut lane = tape.lane();
        lane.push(1u8).unwrap();
        // SAFETY: the lane is ours.
        let result = unsafe { on(&raw mut lane, 7, |_| panic!("on purpose")) };
        assert_eq!(result, 7);
        assert_eq!(lane.pop::<u8>(), Err(Error::Panicked));
        lane.clear();
        assert_eq!(lane.status(), Ok(()));
    }
}
