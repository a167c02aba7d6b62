//! The seal of a block on disk: which lane, block and generation it is, and a checksum of it all. A block that is not
//! exactly the one that was written last is never taken for it.

use crate::slab::{SEAL_BYTES, Slab};

const MAGIC: u64 = u64::from_le_bytes(*b"cotape01");

/// What a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) lane: u64,
    pub(crate) block: u64,
    /// Counts the blocks that the lane has written; no two have the same.
    pub(crate) generation: u64,
}

/// Why a block is not the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealError {
    /// Its bytes have changed.
    Corrupt,
    /// It is a whole block, but another one.
    Stale,
}

impl Seal {
    /// Seals the data of a slab, at its end.
    pub(crate) fn put_on(&self, slab: &mut Slab) -> u32 {
        // Two slices, because a lane may be reading the data meanwhile.
        let (start, bytes) = (slab.lo(), slab.bytes() - SEAL_BYTES);
        // SAFETY: so many bytes belong to the slab, before the seal.
        let data = unsafe { std::slice::from_raw_parts(start, bytes) };
        self.put(data, slab.seal_mut())
    }

    /// Writes the seal of these bytes to the place behind them; the checksum is kept in memory too.
    pub(crate) fn put(&self, data: &[u8], place: &mut [u8]) -> u32 {
        let words = [MAGIC, self.lane, self.block, self.generation];
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(data);
        let (words_of_seal, stated) = place.split_at_mut(SEAL_BYTES - 4);
        words_of_seal.fill(0);
        for (place, word) in words_of_seal.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        checksum.update(words_of_seal);
        let checksum = checksum.finalize();
        stated.copy_from_slice(&checksum.to_le_bytes());
        checksum
    }

    /// Whether these bytes, the seal at their end, are the block with this seal and checksum.
    pub(crate) fn check(&self, all: &[u8], checksum: u32) -> Result<(), SealError> {
        let (bytes, stated) = all.split_at(all.len() - 4);
        let actual = crc32fast::hash(bytes);
        if actual.to_le_bytes() != *stated {
            return Err(SealError::Corrupt);
        }
        let mut words = bytes[all.len() - SEAL_BYTES..].chunks_exact(8);
        let is_this = [MAGIC, self.lane, self.block, self.generation]
            .into_iter()
            .all(|word| words.next().is_some_and(|bytes| bytes == word.to_le_bytes()));
        if is_this && actual == checksum { Ok(()) } else { Err(SealError::Stale) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_corruptions_are_all_detected() {
        let mut slab = Slab::map(64 << 10).unwrap();
        for (index, byte) in slab.all_mut().iter_mut().enumerate() {
            *byte = (index * 7 % 251) as u8;
        }
        let seal = Seal { lane: 3, block: 5, generation: 8 };
        let checksum = seal.put_on(&mut slab);
        assert_eq!(seal.check(slab.all(), checksum), Ok(()));
        let mut random = 1u64;
        for round in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % slab.all().len();
            // One bit, a byte, or a torn sector.
            let length = [1, 1, 512][round % 3].min(slab.all().len() - at);
            let change = if round % 3 == 0 { 1 << (random >> 20 & 7) } else { (random >> 40) as u8 | 1 };
            let flip = |slab: &mut Slab| slab.all_mut()[at..at + length].iter_mut().for_each(|byte| *byte ^= change);
            flip(&mut slab);
            assert!(seal.check(slab.all(), checksum).is_err(), "{round}: {length} bytes at {at}");
            flip(&mut slab);
        }
        assert_eq!(seal.check(slab.all(), checksum), Ok(()));
    }

    #[test]
    fn another_block_is_stale() {
        let mut slab = Slab::map(64 << 10).unwrap();
        let seal = Seal { lane: 3, block: 5, generation: 8 };
        let checksum = seal.put_on(&mut slab);
        for other in [Seal { lane: 4, ..seal }, Seal { block: 6, ..seal }, Seal { generation: 9, ..seal }] {
            assert_eq!(other.check(slab.all(), checksum), Err(SealError::Stale));
        }
        assert_eq!(seal.check(slab.all(), checksum ^ 1), Err(SealError::Stale));
    }
}
