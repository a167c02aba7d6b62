//! One bit for each byte of shared or device memory: whether it was written.

use std::ops::Range;

/// A set of byte offsets.
#[derive(Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// So many bits, all false. Pages of it are there once they are set.
    pub(super) fn new(size: usize) -> Bitmap {
        Bitmap { words: vec![0; size.div_ceil(64)] }
    }

    /// Makes all `size` bits false.
    pub(super) fn clear(&mut self, size: usize) {
        self.words.clear();
        self.words.resize(size.div_ceil(64), 0);
    }

    pub(super) fn get(&self, offset: usize) -> bool {
        self.words[offset / 64] >> (offset % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn set(&mut self, range: Range<usize>, value: bool) {
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        for word in first..=last {
            let mask = mask_in_word(word, &range);
            if value {
                self.words[word] |= mask;
            } else {
                self.words[word] &= !mask;
            }
        }
    }

    /// Whether some part of the range has no bit set at all, where the parts are the aligned groups of four bytes
    /// that the range touches (cut to the range).
    ///
    /// A single byte that is not set does not count if a neighbour in its group is: the compiler copies small
    /// structs with one wide load, padding included, and padding is never written.
    #[inline]
    pub(super) fn has_empty_group(&self, range: Range<usize>) -> bool {
        let mut start = range.start;
        while start < range.end {
            let end = (start / 4 * 4 + 4).min(range.end);
            // A group of four aligned bytes never crosses a word.
            if self.words[start / 64] & mask_in_word(start / 64, &(start..end)) == 0 {
                return true;
            }
            start = end;
        }
        false
    }
}

/// The bits of a word that lie in a nonempty range which meets the word.
#[inline]
fn mask_in_word(word: usize, range: &Range<usize>) -> u64 {
    let low = range.start.saturating_sub(word * 64);
    let high = (range.end - word * 64).min(64);
    (u64::MAX >> (64 - (high - low))) << low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words_are_byte_exact() {
        for (start, end) in [(0, 1), (3, 9), (60, 68), (0, 128), (63, 65), (1, 200)] {
            let mut bitmap = Bitmap::default();
            bitmap.clear(256);
            bitmap.set(start..end, true);
            for offset in 0..256 {
                assert_eq!(bitmap.get(offset), (start..end).contains(&offset), "{start}..{end} at {offset}");
            }
            bitmap.set(start..end, false);
            assert!((0..256).all(|offset| !bitmap.get(offset)));
        }
    }

    #[test]
    fn padding_inside_a_group_is_no_empty_group() {
        let mut bitmap = Bitmap::default();
        bitmap.clear(64);
        bitmap.set(0..1, true);
        bitmap.set(4..8, true);
        assert!(!bitmap.has_empty_group(0..8));
        assert!(bitmap.has_empty_group(0..12));
        assert!(bitmap.has_empty_group(1..2));
    }
}
