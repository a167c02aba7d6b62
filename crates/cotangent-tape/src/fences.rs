//! Which marks of a lane are still good: those below which nothing was taken since.
//!
//! A pop that stays in its slab is a compare and a copy, and tells nobody. So the place of the highest good mark is a fence: the lane's
//! window begins there, and a pop over it takes the slow way.

/// A place that was marked.
struct Fence {
    position: u64,
    objects: u32,
    /// Counts the marks of a lane.
    number: u64,
}

/// The good marks, from the bottom up.
#[derive(Default)]
pub(crate) struct Fences {
    stack: Vec<Fence>,
    taken: u64,
}

impl Fences {
    /// Marks the end of a lane with so many bytes and objects; the mark's number. A place that is marked already is the same mark.
    pub(crate) fn add(&mut self, position: u64, objects: u32) -> u64 {
        let top = self.stack.last().filter(|top| (top.position, top.objects) == (position, objects));
        if let Some(top) = top {
            return top.number;
        }
        self.taken += 1;
        self.stack.push(Fence { position, objects, number: self.taken });
        self.taken
    }

    /// Whether the mark of this number is good.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.stack.binary_search_by_key(&number, |fence| fence.number).is_ok()
    }

    /// Forgets the marks above an end with so many bytes and objects.
    pub(crate) fn fall_to(&mut self, position: u64, objects: u32) {
        while self.stack.pop_if(|top| top.position > position || top.objects > objects).is_some() {}
    }

    /// Forgets all. Numbers are not used again.
    pub(crate) fn clear(&mut self) {
        self.stack.clear();
    }

    /// The place of the highest good mark; zero if there is none.
    pub(crate) fn highest(&self) -> u64 {
        self.stack.last().map_or(0, |top| top.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_until_something_below_it_is_taken() {
        let mut fences = Fences::default();
        let [low, middle, high] = [(10, 0), (20, 1), (20, 2)].map(|(position, objects)| fences.add(position, objects));
        assert_eq!(fences.add(20, 2), high);
        assert_eq!(fences.highest(), 20);
        fences.fall_to(20, 1);
        assert!(fences.has(low) && fences.has(middle) && !fences.has(high));
        fences.fall_to(19, 1);
        assert!(fences.has(low) && !fences.has(middle));
        let again = fences.add(20, 1);
        assert!(again > high && fences.has(again) && !fences.has(middle));
        fences.clear();
        assert!(!fences.has(low) && fences.highest() == 0);
        assert!(fences.add(10, 0) > again);
    }
}
