//! Where the variables of a kernel lie in shared memory.

use crate::program::Program;

/// The place of each variable of the program that the kernel uses, and where they end.
pub(crate) struct SharedLayout {
    pub(crate) offsets: Vec<u32>,
    pub(crate) end: u32,
}

/// Both ways to lay out the shared memory of a kernel.
pub(crate) struct SharedLayouts {
    /// Variables are as near to each other as their alignment lets them be.
    pub(crate) dense: SharedLayout,
    /// No variable is aligned better than it says, so that what relies on more is found.
    pub(crate) loose: SharedLayout,
}

impl SharedLayouts {
    pub(crate) fn new(program: &Program, kernel: usize) -> SharedLayouts {
        let used = used_by(program, kernel);
        let [dense, loose] = [Spacing::Dense, Spacing::Loose].map(|spacing| SharedLayout::new(program, &used, spacing));
        SharedLayouts { dense, loose }
    }
}

/// The variables in shared memory that a kernel can reach.
fn used_by(program: &Program, kernel: usize) -> Vec<usize> {
    let mut reached = vec![false; program.functions.len()];
    let mut pending = vec![kernel];
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut reached[index], true) {
            continue;
        }
        let function = &program.functions[index];
        pending.extend(&function.callees);
        if function.calls_unknown {
            let others = program.functions.iter().enumerate().filter(|(_, other)| !other.is_kernel);
            pending.extend(others.map(|(index, _)| index));
        }
    }
    let functions = program.functions.iter().zip(&reached).filter(|(_, reached)| **reached);
    let mut used: Vec<usize> = functions.flat_map(|(function, _)| function.shared.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    used
}

impl SharedLayout {
    /// What a launch adds follows the variables.
    fn new(program: &Program, used: &[usize], spacing: Spacing) -> SharedLayout {
        let mut offsets = vec![0; program.shared.len()];
        let mut end = 0u32;
        for &index in used {
            let variable = &program.shared[index];
            if let Some(bytes) = variable.bytes {
                offsets[index] = spacing.place(end, variable.alignment);
                end = offsets[index].saturating_add(bytes);
            }
        }
        let dynamic = used.iter().filter(|index| program.shared[**index].bytes.is_none());
        let alignment = dynamic.clone().map(|index| program.shared[*index].alignment).max().unwrap_or(1);
        let end = end.checked_next_multiple_of(alignment).unwrap_or(u32::MAX);
        dynamic.for_each(|index| offsets[*index] = end);
        SharedLayout { offsets, end }
    }
}

/// How near to each other variables are.
#[derive(Clone, Copy)]
enum Spacing {
    Dense,
    Loose,
}

impl Spacing {
    /// The first place at or after `end`.
    fn place(self, end: u32, alignment: u32) -> u32 {
        let multiple = end.checked_next_multiple_of(alignment).unwrap_or(u32::MAX);
        match self {
            Spacing::Loose if (multiple / alignment).is_multiple_of(2) => multiple.saturating_add(alignment),
            Spacing::Dense | Spacing::Loose => multiple,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_variables_are_aligned_as_they_say_and_no_better() {
        assert_eq!([0, 4, 5, 8, 20].map(|end| Spacing::Dense.place(end, 4)), [0, 4, 8, 8, 20]);
        assert_eq!([0, 4, 5, 8, 20].map(|end| Spacing::Loose.place(end, 4)), [4, 4, 12, 12, 20]);
        assert_eq!(Spacing::Loose.place(4, 16), 16);
        assert_eq!(Spacing::Loose.place(17, 16), 48);
    }
}
