//! What of a module the program that it comes from has itself, so that text which stands after the program need not
//! repeat it.

use std::collections::{BTreeMap, BTreeSet};

use super::Name;

/// What the program has, by the names of the module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Provided {
    /// The program's records.
    pub records: BTreeMap<Name, ProvidedRecord>,
    /// Functions that can be called by the name that they have in the module.
    pub functions: BTreeSet<Name>,
    /// Variables that can be named as in the module.
    pub globals: BTreeSet<Name>,
    /// What else is the program's: functions and variables that have no name of their own there, or not this one.
    pub unnamed: BTreeSet<Name>,
    /// Every name outside functions that the program gives to something.
    pub taken: BTreeSet<Name>,
}

/// A record of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProvidedRecord {
    /// The program's type is the module's: plain public fields. This is how it is spelled.
    Same(String),
    /// Constructors, bases or private fields are in the way, or it has no name: a struct of the same fields stands for
    /// it in memory. How the program's type is spelled, if it can be.
    Copied(Option<String>),
}
