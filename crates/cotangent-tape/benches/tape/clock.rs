//! Clocks and interleaved minima.

/// Processor time of this thread, in seconds.
pub(crate) fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The least seconds that each contender needs, with them taking turns so that a slow moment hits all alike.
pub(crate) fn minima(rounds: usize, contenders: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..rounds {
        for (run, best) in contenders.iter_mut().zip(&mut best) {
            let start = thread_seconds();
            run();
            *best = best.min(thread_seconds() - start);
        }
    }
    best
}
