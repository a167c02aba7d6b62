//! Seeds in batches, which several threads take in turn: random kernels and random programs.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

/// Does the work for every batch of seeds, until one says that it is enough.
pub(crate) fn each_batch(
    seeds: &Range<u64>,
    batch: u64,
    jobs: usize,
    work: impl Fn(Range<u64>) -> Result<ControlFlow<()>> + Sync,
) -> Result<()> {
    let next = AtomicU64::new(seeds.start);
    let take = || -> Result<()> {
        loop {
            let first = next.fetch_add(batch, Ordering::Relaxed);
            if first >= seeds.end {
                return Ok(());
            }
            if work(first..seeds.end.min(first + batch))?.is_break() {
                next.store(seeds.end, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(take)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
