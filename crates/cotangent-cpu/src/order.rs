//! Orders of blocks and threads, permuted by a seed.
//!
//! A correct CUDA program does not depend on the order in which blocks or threads run. Seed 0 is
//! the natural order; any other seed gives another order, the same one every time.

/// A small random generator (the finaliser of splitmix64 over a counter); it only has to mix well.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Shuffles in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next_bits() % (last as u64 + 1)) as usize);
        }
    }
}

/// A permutation of `0..count` that needs no table, because a grid may have billions of blocks:
/// `position * step + start` modulo `count`, with a step that has no factor in common with it.
#[derive(Clone, Copy)]
pub(crate) struct BlockOrder {
    count: u64,
    step: u64,
    start: u64,
}

impl BlockOrder {
    pub(crate) fn new(count: u64, seed: u64) -> BlockOrder {
        if seed == 0 || count < 2 {
            return BlockOrder { count, step: 1, start: 0 };
        }
        let mut random = Random::new(seed, 0);
        let mut step = 1 + random.next_bits() % (count - 1);
        while greatest_common_divisor(step, count) != 1 {
            step = if step + 1 < count { step + 1 } else { 1 };
        }
        BlockOrder { count, step, start: random.next_bits() % count }
    }

    /// The block that runs at `position`.
    pub(crate) fn block_at(self, position: u64) -> u64 {
        let product = u128::from(position) * u128::from(self.step) + u128::from(self.start);
        (product % u128::from(self.count)) as u64
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_order_is_a_permutation_for_every_seed_and_natural_for_zero() {
        for count in [1, 2, 3, 12, 97, 1024] {
            let natural: Vec<u64> = (0..count).map(|i| BlockOrder::new(count, 0).block_at(i)).collect();
            assert_eq!(natural, (0..count).collect::<Vec<_>>());
            for seed in 1..20 {
                let order = BlockOrder::new(count, seed);
                let mut seen: Vec<u64> = (0..count).map(|i| order.block_at(i)).collect();
                seen.sort_unstable();
                assert_eq!(seen, natural, "count {count}, seed {seed}");
            }
        }
    }
}
