//! A tape: what its lanes share. It owns no values; lanes do, and they may outlive it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::disk::{self, Buffers, Io, OpenEngine, in_folder};
use crate::error::Error;
use crate::lane::Lane;
use crate::pool::Pool;
use crate::progress::{Progress, Watcher};
use crate::store::{Folder, OnFull, Shared, Store, disk_error};

/// How large a tape may become, and in what steps.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes a slab, a power of two. Each lane in use has at least one.
    pub slab_bytes: usize,
    /// Bytes of memory that all lanes together may use.
    pub budget_bytes: usize,
    /// The folder whose disk takes what does not fit into the budget; without one, that is an error. Not a folder in
    /// memory (tmpfs).
    pub spill: Option<PathBuf>,
    /// Folders on other disks, which are used when all before them are full.
    pub spill_more: Vec<PathBuf>,
    /// Asked when all folders are full, before that is an error.
    pub on_full: Option<OnFull>,
    /// How slabs get to the disk.
    pub io: Io,
    /// Whether blocks are compressed on their way to the disk, as long as that pays. A part of the budget is for it, a sixteenth or six
    /// slabs, at least one, each with 960 KiB. Through threads only.
    pub compress: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slab_bytes: 2 << 20,
            budget_bytes: usize::MAX,
            spill: None,
            spill_more: Vec::new(),
            on_full: None,
            io: Io::Automatic,
            compress: false,
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), Error> {
        let slab = self.slab_bytes;
        let is_slab = slab.is_power_of_two() && (64 << 10..=1 << 30).contains(&slab);
        let is_second = self.spill.is_some() || self.spill_more.is_empty();
        let has_threads = !self.compress || self.io != Io::Uring;
        if is_slab && self.slabs() >= 4 && is_second && has_threads { Ok(()) } else { Err(Error::Options) }
    }

    /// Bytes of the budget for compression.
    fn set_aside(&self) -> usize {
        if self.compress { Buffers::share_of(self.budget_bytes, self.slab_bytes) } else { 0 }
    }

    /// How many slabs the rest of the budget is.
    fn slabs(&self) -> usize {
        self.budget_bytes.saturating_sub(self.set_aside()) / self.slab_bytes
    }

    /// All folders, in the order in which they are used.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.spill.iter().chain(&self.spill_more).map(PathBuf::as_path)
    }
}

/// A budget of memory from which lanes take slabs. Cheap to clone; clones are the same tape.
#[derive(Clone)]
pub struct Tape {
    shared: Arc<Shared>,
    watcher: Option<Watcher>,
    lanes: Arc<AtomicU32>,
}

impl Tape {
    /// A tape without lanes. It takes no memory before the first push. A folder in which no file can be made is an error now, and not in the
    /// middle of a sweep.
    pub fn new(options: Options) -> Result<Tape, Error> {
        Self::with_engines(&options, engines(&options), None)
    }

    /// A tape whose lanes tell `watch`, once a slab, how far they have come. It is called on the thread that pushes or
    /// pops, and must not use the lane.
    pub fn watched(options: Options, watch: impl Fn(Progress) + Send + Sync + 'static) -> Result<Tape, Error> {
        Self::with_engines(&options, engines(&options), Some(Watcher::new(watch)))
    }

    pub(crate) fn with_engines(
        options: &Options,
        engines: Vec<OpenEngine>,
        watcher: Option<Watcher>,
    ) -> Result<Tape, Error> {
        options.check()?;
        for folder in options.folders() {
            disk::try_folder(folder).map_err(disk_error)?;
        }
        let paths = options.folders().map(Path::to_owned).chain(std::iter::repeat_with(PathBuf::new));
        let folders = engines.into_iter().zip(paths).map(|(open, path)| {
            let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
            Folder { open, path, name, room: Mutex::default() }
        });
        let pool = Pool::new(options.slab_bytes, options.slabs());
        let buffers = match options.set_aside() {
            0 => None,
            share => Some(Arc::new(Buffers::new(share, options.slab_bytes).ok_or(Error::Memory)?)),
        };
        let shared = Arc::new(Shared::new(pool, folders.collect(), options.on_full.clone(), buffers));
        Ok(Tape { shared, watcher, lanes: Arc::new(AtomicU32::new(0)) })
    }

    /// A new, empty lane; as a rule one a thread.
    pub fn lane(&self) -> Lane {
        let id = self.lanes.fetch_add(1, Ordering::Relaxed);
        let store = Store::new(Arc::clone(&self.shared), u64::from(id));
        Lane::new(id, store, self.watcher.clone())
    }

    /// The most memory that the lanes ever had at a time, in bytes.
    pub fn peak_bytes(&self) -> usize {
        let buffers = self.shared.buffers.as_ref().map_or(0, |buffers| buffers.used_bytes());
        self.shared.pool.most_mapped() * self.shared.pool.slab_bytes() + buffers
    }
}

fn engines(options: &Options) -> Vec<OpenEngine> {
    options.folders().map(|folder| in_folder(folder, options.io)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_tape_can_have_are_refused() {
        let with =
            |slab_bytes, budget_bytes| Tape::new(Options { slab_bytes, budget_bytes, ..Options::default() }).err();
        assert_eq!(with(64 << 10, 256 << 10), None);
        for (slab, budget) in [(0, 1 << 30), (3 << 20, 1 << 30), (4096, 1 << 30), (1 << 20, 3 << 20)] {
            assert_eq!(with(slab, budget), Some(Error::Options));
        }
        let compressed = |budget_bytes, io| {
            Tape::new(Options { slab_bytes: 64 << 10, budget_bytes, io, compress: true, ..Options::default() }).err()
        };
        assert_eq!(compressed(2 << 20, Io::Threads), None);
        assert_eq!(compressed(2 << 20, Io::Uring), Some(Error::Options));
        // Four slabs, and none of them left for that.
        assert_eq!(compressed(256 << 10, Io::Threads), Some(Error::Options));
    }

    #[test]
    fn memory_is_the_data_and_at_most_a_slab_a_lane() {
        const NUMBERS: usize = 8 << 20;
        let tape = Tape::new(Options::default()).unwrap();
        let mut lane = tape.lane();
        (0..NUMBERS).for_each(|i| lane.push(i).unwrap());
        let mut other = tape.lane();
        other.push(1u8).unwrap();
        let data = (NUMBERS * 8 + 1) as f64;
        let slabs = (2 * Options::default().slab_bytes) as f64;
        assert!(tape.peak_bytes() as f64 <= data * 1.02 + slabs);
        // A second sweep finds all it needs.
        let peak = tape.peak_bytes();
        lane.clear();
        (0..NUMBERS).for_each(|i| lane.push(i).unwrap());
        assert_eq!(tape.peak_bytes(), peak);
    }

    #[test]
    fn lanes_tell_how_far_they_have_come_once_a_slab() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let watch = Arc::clone(&told);
        let options = Options { slab_bytes: 64 << 10, ..Options::default() };
        let tape = Tape::watched(options, move |progress| watch.lock().unwrap().push(progress)).unwrap();
        drop(tape.lane());
        let mut lane = tape.lane();
        lane.push_slice(&[0u8; 200_000]).unwrap();
        lane.pop_slice(&mut [0u8; 150_000]).unwrap();
        let told = told.lock().unwrap();
        let capacity = (64 << 10) - 64;
        let bytes: Vec<u64> = told.iter().map(|progress| progress.bytes / capacity).collect();
        assert_eq!(bytes, [0, 1, 2, 3, 3, 2, 1]);
        assert!(told.iter().all(|progress| progress.lane == 1 && progress.bytes_on_disk == 0));
    }
}
