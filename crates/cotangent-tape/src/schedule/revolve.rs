//! The binomial schedule (Griewank and Walther's Revolve): for a number of steps known beforehand and slots that all
//! cost the same, no schedule runs fewer steps.
//!
//! With `c` slots, `C(c + r, c)` steps can be reversed so that none is advanced over more than `r` times. That number
//! says where to put the next state: both parts must be reversible within the repetitions that they have left.

use std::num::NonZeroUsize;

use super::{Action, Level, Schedule};

/// Actions that reverse a given number of steps. Memory: one entry a slot.
#[derive(Clone, Debug)]
pub struct Revolve {
    slots: usize,
    /// The states in slots, slot 0 first.
    kept: Vec<Kept>,
    /// The state in hand.
    hand: Option<u64>,
    /// To be given before anything else is decided.
    next: Option<Action>,
}

/// The state `from`, and the steps that are to be reversed from it: up to `to`.
#[derive(Clone, Debug)]
struct Kept {
    from: u64,
    to: u64,
}

impl Revolve {
    /// The schedule for so many steps and slots. State 0 takes a slot too, unless there is only one step.
    pub fn new(steps: u64, slots: NonZeroUsize) -> Self {
        let mut schedule = Self { slots: slots.get(), kept: Vec::new(), hand: Some(0), next: None };
        schedule.next = match steps {
            0 => None,
            1 => Some(Action::Reverse { step: 0 }),
            _ => Some(schedule.keep(0, steps)),
        };
        schedule
    }

    /// The schedule that goes on when these states, in this order, are in slots 0, 1 and so on, and the last step is run.
    pub(super) fn resumed(states: impl Iterator<Item = u64>, steps: u64, slots: usize) -> Self {
        let mut kept: Vec<Kept> = states.map(|from| Kept { from, to: steps }).collect();
        for below in 1..kept.len() {
            kept[below - 1].to = kept[below].from;
        }
        Self { slots, kept, hand: None, next: None }
    }

    /// How many steps are advanced over in all, besides the one run of each that is recorded.
    pub fn advances(steps: u64, slots: NonZeroUsize) -> u128 {
        let slots = slots.get() as u64;
        let repetitions = repetitions(steps, slots);
        if repetitions == 0 {
            return 0;
        }
        u128::from(repetitions) * u128::from(steps) - binomial(slots.saturating_add(1), repetitions - 1)
    }

    fn keep(&mut self, from: u64, to: u64) -> Action {
        self.kept.push(Kept { from, to });
        Action::Store { step: from, level: Level::Memory, slot: self.kept.len() - 1 }
    }

    /// Reverses the last step of the topmost part, which the state in hand begins.
    fn reverse(&mut self, step: u64) -> Action {
        self.hand = None;
        if self.kept.last().is_some_and(|top| top.to == top.from) {
            self.kept.pop();
            self.next = Some(Action::Free { level: Level::Memory, slot: self.kept.len() });
        }
        Action::Reverse { step }
    }
}

impl Iterator for Revolve {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        if let Some(action) = self.next.take() {
            return Some(action);
        }
        let slot = self.kept.len().checked_sub(1)?;
        let top = &mut self.kept[slot];
        let (from, to) = (top.from, top.to);
        if let Some(hand) = self.hand.filter(|hand| *hand != from) {
            // Just advanced to here: the part above gets a slot, unless it is the one step to be reversed now.
            top.to = hand;
            return Some(if to - hand == 1 { self.reverse(hand) } else { self.keep(hand, to) });
        }
        if self.hand.is_none() {
            self.hand = Some(from);
            return Some(Action::Restore { step: from, level: Level::Memory, slot });
        }
        if to - from == 1 {
            top.to = from;
            return Some(self.reverse(from));
        }
        let middle = from + split(to - from, (self.slots - slot) as u64);
        self.hand = Some(middle);
        Some(Action::Advance { from, to: middle })
    }
}

impl Schedule for Revolve {
    fn slots(&self, level: Level) -> usize {
        match level {
            Level::Memory => self.slots,
            Level::Disk => 0,
        }
    }
}

/// How far to advance before the next state is kept: `steps` of at least 2, `slots` of at least 1, one of which holds
/// the first state. Of the optimal places the last one, which leaves least to be kept above it.
pub(super) fn split(steps: u64, slots: u64) -> u64 {
    let repetitions = repetitions(steps, slots);
    let below = binomial(slots, repetitions - 1);
    let above = binomial(slots - 1, repetitions - 1);
    // At most `steps`, which is such a number.
    below.min(u128::from(steps) - above) as u64
}

/// The smallest `r` with `C(slots + r, slots) >= steps`.
pub(super) fn repetitions(steps: u64, slots: u64) -> u64 {
    let (mut below, mut enough) = (0, steps.saturating_sub(1));
    if enough == 0 {
        return 0;
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        match binomial(slots, middle) >= u128::from(steps) {
            true => enough = middle,
            false => below = middle,
        }
    }
    enough
}

/// `C(n + r, n)`, or the largest number if that is about as large. The product doubles with each factor at least, so there are few.
pub(super) fn binomial(n: u64, r: u64) -> u128 {
    let (small, large) = (u128::from(n.min(r)), u128::from(n.max(r)));
    let mut product = 1u128;
    for i in 1..=small {
        // Exact: this is the next binomial coefficient.
        let Some(next) = product.checked_mul(large + i) else { return u128::MAX };
        product = next / i;
    }
    product
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::numbers;
    use super::*;

    fn slots(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("not zero")
    }

    fn run(schedule: Revolve, steps: u64) -> u128 {
        u128::from(numbers::reverse(schedule, steps).advanced)
    }

    #[test]
    fn forward_steps_are_those_of_the_binomial_formula() {
        for steps in 0..=500 {
            for count in 1..=20 {
                let advances = run(Revolve::new(steps, slots(count)), steps);
                assert_eq!(advances, Revolve::advances(steps, slots(count)), "{steps} steps, {count} slots");
            }
        }
    }

    #[test]
    fn no_schedule_has_fewer_forward_steps() {
        const STEPS: usize = 60;
        // best[c][n]: n steps from a state in one of c slots.
        let mut best = vec![vec![0u128; STEPS + 1]; 8];
        for count in 1..8 {
            for steps in 2..=STEPS {
                let cost = |middle: usize| {
                    let above = if steps - middle == 1 {
                        Some(0)
                    } else {
                        (count > 1).then(|| best[count - 1][steps - middle])
                    };
                    above.map(|above| middle as u128 + above + best[count][middle])
                };
                best[count][steps] = (1..steps).filter_map(cost).min().expect("one step back is always possible");
                assert_eq!(best[count][steps], Revolve::advances(steps as u64, slots(count)), "{steps}, {count}");
            }
        }
    }

    #[test]
    fn known_figures_are_met() {
        for (steps, count, advances) in [(1000, 10, 3636), (1000, 20, 2747), (100, 5, 316)] {
            assert_eq!(run(Revolve::new(steps, slots(count)), steps), advances);
        }
    }

    #[test]
    fn a_thousand_steps_take_less_than_ten_milliseconds() {
        let fastest = (0..5).map(|_| {
            let start = Instant::now();
            assert!(Revolve::new(1000, slots(20)).count() > 2000);
            start.elapsed()
        });
        assert!(fastest.min() < Some(Duration::from_millis(10)));
    }

    #[test]
    fn the_largest_numbers_are_no_larger_than_others() {
        let start = Instant::now();
        let most = u64::MAX;
        let all = u128::from(most);
        assert_eq!(Revolve::advances(most, slots(1)), all * (all - 1) / 2);
        // A state for each step but the last, which is run from the one before.
        assert_eq!(Revolve::advances(most, slots(usize::MAX)), all - 1);
        assert_eq!(Revolve::advances(100, slots(usize::MAX)), 99);
        for count in [1, 2, 3, 20, 1 << 40, usize::MAX] {
            let first: Vec<Action> = Revolve::new(most, slots(count)).take(5).collect();
            assert!(matches!(first[..2], [Action::Store { .. }, Action::Advance { .. }]), "{count}");
        }
        // With two slots the best middle of so many steps is in no table: both sides are as good as the formula says.
        let middle = split(most, 2);
        let parts = Revolve::advances(middle, slots(2)) + Revolve::advances(most - middle, slots(1));
        assert_eq!(Revolve::advances(most, slots(2)), u128::from(middle) + parts);
        assert!(start.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn a_million_steps_are_streamed() {
        let steps = 1_000_000;
        assert_eq!(run(Revolve::new(steps, slots(30)), steps), Revolve::advances(steps, slots(30)));
        // Far more steps than could be listed: the first actions come at once.
        let first: Vec<Action> = Revolve::new(u64::MAX, slots(20)).take(3).collect();
        assert!(matches!(first[..], [Action::Store { .. }, Action::Advance { .. }, Action::Store { .. }]));
    }
}
