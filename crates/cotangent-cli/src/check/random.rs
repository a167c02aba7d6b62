//! Numbers that are the same in every run: a check that fails can be repeated.

/// Numbers of a seed, of the kinds that checks need.
pub(crate) struct Random(cotangent_cpu::Random);

/// Odd, so that no two seeds become one; its bits are half ones.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of a seed. Seeds are mixed: those of neighbours must not be one stream a step apart.
    pub(crate) fn new(seed: u64) -> Self {
        let spread = seed.wrapping_sub(1).wrapping_mul(SPREAD).wrapping_add(42);
        let mixed = cotangent_cpu::Random::new(spread, 0).next_bits();
        Random(cotangent_cpu::Random::new(mixed, 0))
    }

    fn next(&mut self) -> u64 {
        self.0.next_bits()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut random = Random::new(7);
        assert_eq!([random.next(), random.next()], [0xc81e_7327_cf51_cb2a, 0x3532_4874_0938_d772]);
    }

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
