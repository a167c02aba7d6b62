//! Sorts the bytes of words of eight by their places in the word, and back: all first bytes, then all second ones, and
//! so on. The bytes of numbers that are alike become runs.

/// Bytes that are sorted at a time: eight words. The length of what is sorted is a multiple of it.
const GROUP: usize = 64;

pub(crate) fn sort(from: &[u8], to: &mut [u8]) {
    let plane = from.len() / 8;
    debug_assert!(from.len().is_multiple_of(GROUP) && from.len() == to.len());
    for (index, group) in from.chunks_exact(GROUP).enumerate() {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(group.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        for (word, plane) in transpose(words).into_iter().zip(to.chunks_exact_mut(plane)) {
            plane[index * 8..index * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
}

pub(crate) fn restore(from: &[u8], to: &mut [u8]) {
    let plane = from.len() / 8;
    debug_assert!(from.len().is_multiple_of(GROUP) && from.len() == to.len());
    for (index, group) in to.chunks_exact_mut(GROUP).enumerate() {
        let mut words = [0; 8];
        for (word, plane) in words.iter_mut().zip(from.chunks_exact(plane)) {
            *word = plane[index * 8..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        }
        for (word, bytes) in transpose(words).into_iter().zip(group.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Byte `j` of word `i` becomes byte `i` of word `j`: halves are swapped, then quarters, then bytes.
fn transpose(mut words: [u64; 8]) -> [u64; 8] {
    const SWAPS: [(usize, u32, u64); 3] =
        [(4, 32, 0x0000_0000_ffff_ffff), (2, 16, 0x0000_ffff_0000_ffff), (1, 8, 0x00ff_00ff_00ff_00ff)];
    for (distance, shift, mask) in SWAPS {
        for first in (0..8).filter(|index| index & distance == 0) {
            let second = first + distance;
            let change = ((words[first] >> shift) ^ words[second]) & mask;
            words[second] ^= change;
            words[first] ^= change << shift;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_sorted_by_their_places_and_back() {
        let data: Vec<u8> = (0..GROUP * 5).map(|i| (i * 7 % 251) as u8).collect();
        let (mut sorted, mut back) = (vec![0; data.len()], vec![0; data.len()]);
        sort(&data, &mut sorted);
        let plane = data.len() / 8;
        assert!((0..data.len()).all(|i| sorted[i % 8 * plane + i / 8] == data[i]));
        restore(&sorted, &mut back);
        assert_eq!(back, data);
    }
}
