//! The one engine of the analyses: a step is repeated until it finds nothing new.
//!
//! Facts are only ever added, and there are finitely many of them, so it ends. `size` grows with every fact: equal sizes mean
//! that nothing was found.

/// Repeats a step until the size of what is known stays the same.
pub fn grow<Known, Size: PartialEq>(
    known: &mut Known,
    size: impl Fn(&Known) -> Size,
    mut step: impl FnMut(&mut Known),
) {
    loop {
        let before = size(known);
        step(known);
        if size(known) == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::grow;

    #[test]
    fn what_follows_from_what_was_found_last_is_found_too() {
        // Against the order of the list, so that each step finds one.
        let edges = [(3, 4), (2, 3), (1, 2)];
        let mut reached = BTreeSet::from([1]);
        let mut steps = 0;
        grow(&mut reached, BTreeSet::len, |reached| {
            steps += 1;
            for (from, to) in edges {
                if reached.contains(&from) {
                    reached.insert(to);
                }
            }
        });
        assert_eq!(reached, BTreeSet::from([1, 2, 3, 4]));
        assert_eq!(steps, 4, "three that find something, and one that does not");
    }
}
