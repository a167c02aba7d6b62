//! Whether compression pays for a lane: whether its blocks get to the disk sooner with it than without. Both ways are timed on
//! the lane's own blocks, whatever is slow on this machine now: the disk, or the processor that others need too.

use std::time::{Duration, Instant};

/// After so many blocks in a row that did not pay, compression is given up.
const MISSES: u32 = 16;

/// So many blocks go the other way, for comparison.
const TRIAL: u32 = 16;

/// Once in so many: the disk may have changed its speed, and a sweep come to other values.
const PERIOD: u32 = 512;

/// Measurements older than about so many blocks count half.
const MEMORY: u32 = 16;

/// Fewer blocks tell nothing.
const LEAST: u32 = 4;

/// Of one lane.
pub(crate) struct Judge {
    packed: Meter,
    plain: Meter,
    /// Until when time was counted.
    since: Option<Instant>,
    /// Blocks of this period. It begins with the trial.
    blocks: u32,
    /// In a row; in a trial after it was given up, of all.
    misses: u32,
    /// Blocks of such a trial that have ended.
    tried: u32,
    is_given_up: bool,
    times_given_up: u64,
}

/// How a block is written.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Compressed, if that makes it smaller.
    pub(crate) is_packed: bool,
    is_timed: bool,
}

impl Default for Judge {
    fn default() -> Self {
        // As if a period were about to end: the first blocks are compressed, and the next ones are not.
        Self {
            packed: Meter::default(),
            plain: Meter::default(),
            since: None,
            blocks: PERIOD - TRIAL,
            misses: 0,
            tried: 0,
            is_given_up: false,
            times_given_up: 0,
        }
    }
}

impl Judge {
    /// How the next block goes to the disk. Without a clock compression pays whenever it makes blocks smaller.
    pub(crate) fn begin(&mut self, is_timed: bool) -> Turn {
        if self.blocks == PERIOD {
            self.blocks = 0;
        }
        let is_trial = self.blocks < TRIAL;
        let is_packed = is_trial == self.is_given_up;
        let others = if is_packed { self.plain.under_way } else { self.packed.under_way };
        // A trial counts from when it has the threads to itself.
        if !is_trial || others == 0 {
            self.blocks += 1;
        }
        let turn = Turn { is_packed, is_timed };
        if is_timed {
            self.tick();
            self.meter(turn).under_way += 1;
        }
        turn
    }

    /// The block is on the disk, or failed. How often compression was given up until now.
    pub(crate) fn end(&mut self, turn: Turn, became_smaller: bool) -> u64 {
        if turn.is_timed {
            self.tick();
            let others = self.packed.under_way + self.plain.under_way - self.meter(turn).under_way;
            self.meter(turn).end(others == 0);
        }
        if turn.is_packed {
            self.judge(became_smaller);
        }
        self.times_given_up
    }

    /// Counts the time since the last event, if all blocks under way went the same way: those that wait for others of the other way say
    /// nothing about theirs.
    fn tick(&mut self) {
        let now = Instant::now();
        let time = self.since.replace(now).map_or(Duration::ZERO, |since| now - since);
        match (self.packed.under_way, self.plain.under_way) {
            (1.., 0) => self.packed.busy += time,
            (0, 1..) => self.plain.busy += time,
            (0, 0) | (1.., 1..) => {}
        }
    }

    fn meter(&mut self, turn: Turn) -> &mut Meter {
        if turn.is_packed { &mut self.packed } else { &mut self.plain }
    }

    fn judge(&mut self, became_smaller: bool) {
        let is_slower = match (self.packed.time_a_block(), self.plain.time_a_block()) {
            (Some(packed), Some(plain)) => packed > plain,
            (None, _) | (_, None) => false,
        };
        let is_miss = is_slower || !became_smaller;
        if self.is_given_up {
            self.tried += 1;
            self.misses += u32::from(is_miss);
            if self.tried >= TRIAL {
                self.is_given_up = self.misses > TRIAL / 2;
                (self.tried, self.misses) = (0, 0);
            }
            return;
        }
        self.misses = if is_miss { self.misses + 1 } else { 0 };
        if self.misses >= MISSES {
            self.is_given_up = true;
            self.times_given_up += 1;
            // The next trial is a period away.
            self.blocks = TRIAL;
            (self.tried, self.misses) = (0, 0);
        }
    }
}

/// How fast blocks go one way: the time in which at least one of them was on its way, and none of the others.
#[derive(Default)]
struct Meter {
    under_way: u32,
    blocks: u32,
    busy: Duration,
}

impl Meter {
    fn end(&mut self, is_alone: bool) {
        self.under_way = self.under_way.saturating_sub(1);
        self.blocks += u32::from(is_alone);
        if self.blocks > MEMORY {
            self.blocks /= 2;
            self.busy /= 2;
        }
    }

    fn time_a_block(&self) -> Option<Duration> {
        (self.blocks >= LEAST).then(|| self.busy / self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some blocks that take so long, one after the other; how many of them were compressed.
    fn blocks(judge: &mut Judge, count: u32, packed: Duration, plain: Duration, became_smaller: bool) -> u32 {
        let mut compressed = 0;
        for _ in 0..count {
            let turn = judge.begin(true);
            compressed += u32::from(turn.is_packed);
            let time = if turn.is_packed { packed } else { plain };
            judge.since = judge.since.map(|since| since - time);
            judge.end(turn, became_smaller);
        }
        compressed
    }

    const SHORT: Duration = Duration::from_secs(1);
    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn it_is_given_up_when_the_disk_is_faster_and_not_when_it_is_slower() {
        let mut judge = Judge::default();
        assert_eq!(blocks(&mut judge, 10 * PERIOD, SHORT, LONG, true), 10 * (PERIOD - TRIAL));
        assert_eq!(judge.times_given_up, 0);
        // Now it is slow to compress, or the disk fast.
        blocks(&mut judge, PERIOD, LONG, SHORT, true);
        assert_eq!(judge.times_given_up, 1);
        assert_eq!(blocks(&mut judge, 10 * PERIOD, LONG, SHORT, true), 10 * TRIAL);
        blocks(&mut judge, 2 * PERIOD, SHORT, LONG, true);
        assert_eq!(blocks(&mut judge, 10 * PERIOD, SHORT, LONG, true), 10 * (PERIOD - TRIAL));
        assert_eq!(judge.times_given_up, 1);
    }

    #[test]
    fn it_is_given_up_for_what_cannot_be_compressed_and_tried_again_now_and_then() {
        let mut judge = Judge::default();
        assert_eq!(blocks(&mut judge, PERIOD - TRIAL, SHORT, LONG, false), MISSES);
        assert_eq!(blocks(&mut judge, 10 * PERIOD, SHORT, LONG, false), 10 * TRIAL);
        assert_eq!(judge.times_given_up, 1);
        blocks(&mut judge, 2 * PERIOD, SHORT, LONG, true);
        assert!(blocks(&mut judge, PERIOD, SHORT, LONG, true) > PERIOD / 2);
    }

    #[test]
    fn threads_that_work_at_a_time_share_the_time() {
        let mut judge = Judge::default();
        let turns = [(); 4].map(|()| judge.begin(true));
        judge.since = judge.since.map(|since| since - Duration::from_secs(2));
        assert_eq!(turns.map(|turn| judge.end(turn, true)), [0; 4]);
        let seconds = |judge: &Judge| judge.packed.time_a_block().unwrap().as_secs_f64();
        assert!((0.5..0.6).contains(&seconds(&judge)), "{}", seconds(&judge));
        // Beside a block of the other way nothing is learnt.
        let turn = judge.begin(true);
        judge.plain.under_way += 1;
        judge.since = judge.since.map(|since| since - Duration::from_secs(100));
        judge.end(turn, true);
        assert!((0.5..0.6).contains(&seconds(&judge)), "{}", seconds(&judge));
    }
}
