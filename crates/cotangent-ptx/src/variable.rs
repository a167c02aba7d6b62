//! Variables of a module, as whoever loads it is asked to place them.

/// In which memory a variable of a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    Global,
    Constant,
}

/// A variable that needs a place in memory.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    pub name: &'a str,
    pub bytes: usize,
    pub alignment: usize,
    pub space: VariableSpace,
}
