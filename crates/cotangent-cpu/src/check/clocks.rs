//! Who has synchronised with whom inside a warp: vector clocks over its lanes.
//!
//! A lane's *epoch* is the number of warp synchronisations it took part in since the last barrier of the block.
//! `known[t][u]` is the number of epochs of lane `u` that are complete as far as lane `t` knows: an access of `u`
//! in epoch `e` comes before what `t` does now if and only if `e < known[t][u]`. A synchronisation over a mask
//! joins the knowledge of its lanes, so partial masks and chains of them are right. A lane's own epoch is
//! `known[t][t]`.
//!
//! A barrier orders everything, so clocks start anew in each segment (see `launch.rs`); they are reset when they
//! are next used.

/// Number of lanes of a warp.
pub(super) const LANES: usize = 32;

/// The clocks of all warps of the running block.
#[derive(Default)]
pub(super) struct Clocks {
    warps: Vec<Warp>,
}

struct Warp {
    /// The segment that `known` belongs to; in any other all clocks are zero.
    segment: u32,
    known: Box<[[u32; LANES]; LANES]>,
}

/// Epochs stop here, to fit in a shadow record. Synchronisations beyond it are still taken as order, so that
/// nothing is reported wrongly; races may be missed.
pub(super) const LAST_EPOCH: u32 = (1 << 24) - 1;

impl Clocks {
    /// The lanes of the mask synchronise.
    pub(super) fn sync(&mut self, segment: u32, warp: usize, lanes: u32) {
        while self.warps.len() <= warp {
            self.warps.push(Warp { segment: 0, known: Box::new([[0; LANES]; LANES]) });
        }
        let warp = &mut self.warps[warp];
        if warp.segment != segment {
            warp.segment = segment;
            *warp.known = [[0; LANES]; LANES];
        }
        let members = || (0..LANES).filter(|lane| lanes >> lane & 1 == 1);
        let mut joined = [0; LANES];
        for member in members() {
            for (joined, known) in joined.iter_mut().zip(&warp.known[member]) {
                *joined = (*joined).max(*known);
            }
        }
        for member in members() {
            joined[member] = warp.known[member][member].saturating_add(1);
        }
        for member in members() {
            warp.known[member] = joined;
        }
    }

    /// The epoch in which the lane is.
    #[inline]
    pub(super) fn epoch(&self, segment: u32, warp: usize, lane: usize) -> u32 {
        match self.warps.get(warp) {
            Some(clocks) if clocks.segment == segment => clocks.known[lane][lane].min(LAST_EPOCH),
            _ => 0,
        }
    }

    /// Those of `lanes` whose accesses in `epoch` of this segment are not known to `lane` to be complete. The lane
    /// itself is never among them.
    #[inline]
    pub(super) fn unordered(&self, segment: u32, warp: usize, lane: usize, lanes: u32, epoch: u32) -> u32 {
        let others = lanes & !(1 << lane);
        match self.warps.get(warp) {
            Some(clocks) if clocks.segment == segment && others != 0 => {
                let known = &clocks.known[lane];
                let complete = |other: &usize| known[*other] > epoch.min(LAST_EPOCH - 1);
                others & !(0..LANES).filter(complete).fold(0, |mask, other| mask | 1 << other)
            }
            _ => others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_orders_its_lanes_only_and_chains_carry_on() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.unordered(1, 0, 0, 0b1111, 0), 0b1110);
        clocks.sync(1, 0, 0b0011);
        assert_eq!(clocks.unordered(1, 0, 0, 0b1111, 0), 0b1100);
        assert_eq!(clocks.unordered(1, 0, 2, 0b1111, 0), 0b1011);
        // Lane 0 becomes known to lane 2 through lane 1.
        clocks.sync(1, 0, 0b0110);
        assert_eq!(clocks.unordered(1, 0, 2, 0b1111, 0), 0b1000);
        assert_eq!(clocks.unordered(1, 0, 0, 0b0110, 0), 0b0100);
        // What a lane does after it is not covered.
        assert_eq!(clocks.epoch(1, 0, 1), 2);
        assert_eq!(clocks.unordered(1, 0, 2, 0b0010, 2), 0b0010);
    }

    #[test]
    fn a_new_segment_starts_from_zero() {
        let mut clocks = Clocks::default();
        clocks.sync(1, 3, u32::MAX);
        assert_eq!(clocks.epoch(1, 3, 7), 1);
        assert_eq!(clocks.epoch(2, 3, 7), 0);
        assert_eq!(clocks.unordered(2, 3, 7, 0b11, 0), 0b11);
    }
}
