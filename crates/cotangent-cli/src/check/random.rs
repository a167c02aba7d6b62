//! Numbers that are the same in every run: a check that fails can be repeated.

pub(crate) struct Random(u64);

/// The step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of a seed. Seeds are mixed: those of neighbours must not be one stream a step apart.
    pub(crate) fn new(seed: u64) -> Self {
        Random(mix(seed.wrapping_mul(GOLDEN).wrapping_add(42)))
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number of single precision between two, so that native and widened runs begin with the same.
    pub(crate) fn single(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 40) as f64 / (1u64 << 24) as f64;
        f64::from((low + unit * (high - low)) as f32)
    }

    /// A whole number from 0 to a bound, which is none of them.
    pub(crate) fn below(&mut self, bound: i128) -> i128 {
        i128::from(self.next() >> 33) % bound.max(1)
    }
}

fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_nothing_in_common() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.next()).collect::<Vec<u64>>()
        };
        let (first, second) = (numbers(7), numbers(8));
        assert!(first.iter().all(|number| !second.contains(number)));
    }
}
