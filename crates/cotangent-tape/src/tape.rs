//! A tape: what its lanes share. It owns no values; lanes do, and they may outlive it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::disk::{self, Io, OpenEngine, in_folder};
use crate::error::Error;
use crate::lane::Lane;
use crate::pool::Pool;
use crate::progress::{Progress, Watcher};
use crate::store::{Store, disk_error};

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
    /// How slabs get to that disk.
    pub io: Io,
}

impl Default for Options {
    fn default() -> Self {
        Self { slab_bytes: 2 << 20, budget_bytes: usize::MAX, spill: None, io: Io::Automatic }
    }
}

impl Options {
    fn check(&self) -> Result<(), Error> {
        let slab = self.slab_bytes;
        let fits = slab.is_power_of_two() && (64 << 10..=1 << 30).contains(&slab) && self.budget_bytes / slab >= 4;
        if fits { Ok(()) } else { Err(Error::Options) }
    }
}

/// A budget of memory from which lanes take slabs. Cheap to clone; clones are the same tape.
#[derive(Clone)]
pub struct Tape {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Arc<Pool>,
    open: Option<OpenEngine>,
    /// For messages.
    folder: Option<Arc<CString>>,
    watcher: Option<Watcher>,
    lanes: AtomicU32,
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
        open: Option<OpenEngine>,
        watcher: Option<Watcher>,
    ) -> Result<Tape, Error> {
        options.check()?;
        if let Some(folder) = options.spill.as_ref().filter(|_| open.is_some()) {
            disk::try_folder(folder).map_err(disk_error)?;
        }
        let folder = options.spill.as_ref().and_then(|folder| CString::new(folder.as_os_str().as_bytes()).ok());
        let folder = folder.map(Arc::new);
        let pool = Arc::new(Pool::new(options.slab_bytes, options.budget_bytes / options.slab_bytes));
        Ok(Tape { shared: Arc::new(Shared { pool, open, folder, watcher, lanes: AtomicU32::new(0) }) })
    }

    /// A new, empty lane; as a rule one a thread.
    pub fn lane(&self) -> Lane {
        let id = self.shared.lanes.fetch_add(1, Ordering::Relaxed);
        let store = Store::new(Arc::clone(&self.shared.pool), u64::from(id), self.shared.open.clone());
        Lane::new(id, store, self.shared.folder.clone(), self.shared.watcher.clone())
    }

    /// The most memory that the lanes ever had at a time, in bytes.
    pub fn peak_bytes(&self) -> usize {
        self.shared.pool.most_mapped() * self.shared.pool.slab_bytes()
    }
}

fn engines(options: &Options) -> Option<OpenEngine> {
    options.spill.as_ref().map(|folder| in_folder(folder, options.io))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn sizes_that_no_tape_can_have_are_refused() {
        let with =
            |slab_bytes, budget_bytes| Tape::new(Options { slab_bytes, budget_bytes, ..Options::default() }).err();
        assert_eq!(with(64 << 10, 256 << 10), None);
        for (slab, budget) in [(0, 1 << 30), (3 << 20, 1 << 30), (4096, 1 << 30), (1 << 20, 3 << 20)] {
            assert_eq!(with(slab, budget), Some(Error::Options));
        }
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
