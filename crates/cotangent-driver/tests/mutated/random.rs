//! A small generator of numbers: a case is the same every time, and its number is all one needs to see it again.

pub(crate) struct Random(u64);

impl Random {
    /// The generator of one case.
    pub(crate) fn of_case(case: usize) -> Random {
        let mut random = Random((case as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, or 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
