//! Which facts reverse mode believes: all of them, but in tests of the facts themselves.
//!
//! A fact that is doubted is replaced by its safe answer: the derivative may be slower or larger, its numbers are the same. A
//! fact that is denied is replaced by the answer one would like: somebody must notice. And a pass that is left out must be
//! missed, or not matter.

/// A kind of fact that derivatives rest on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// Which variables of the function carry derivatives.
    Activity,
    /// That a mentioned value is still there.
    Standing,
    /// That a function does not write some memory.
    Memory,
    /// That a statement can be repeated.
    Repetition,
    /// That shared memory is filled again.
    Reload,
    /// What a loop's header tells about its iterations.
    Iterations,
    /// What an iteration begins with.
    Entries,
    /// That iterations commute.
    Order,
    /// That a statement gives a variable its only value.
    OnlyValue,
    /// How large an array is.
    Size,
    /// That no other thread adds to an adjoint.
    Alone,
    /// That all threads of a block add to one place.
    Together,
    /// That a shift cancels.
    Shift,
    /// That each element of an array is stored to once at most.
    Once,
}

/// The facts by the words for them.
pub const FACTS: [(&str, Fact); 14] = [
    ("activity", Fact::Activity),
    ("standing", Fact::Standing),
    ("memory", Fact::Memory),
    ("repetition", Fact::Repetition),
    ("reload", Fact::Reload),
    ("iterations", Fact::Iterations),
    ("entries", Fact::Entries),
    ("order", Fact::Order),
    ("only-value", Fact::OnlyValue),
    ("size", Fact::Size),
    ("alone", Fact::Alone),
    ("together", Fact::Together),
    ("shift", Fact::Shift),
    ("once", Fact::Once),
];

/// The planners: what makes a derivative cheaper and never changes its numbers but by rounding. Passes that are needed are not
/// among them.
pub const PLANNERS: [&str; 12] = [
    "apart",
    "call_once",
    "fuse",
    "gather",
    "gather_tiles",
    "left",
    "merge",
    "privatize",
    "shift",
    "sums_of_loops",
    "together",
    "winners",
];

/// What is believed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Trust {
    /// Replaced by the safe answer.
    pub doubted: Option<Fact>,
    /// Replaced by the answer one would like.
    pub denied: Option<Fact>,
    /// A pass of the normal form that is not run.
    pub left_out: Option<&'static str>,
    /// The only planner that is run, if not all are. Another word than theirs runs none.
    pub only: Option<&'static str>,
    /// Gathers are made of however few elements: tests are small.
    pub gathers_few: bool,
}

impl Trust {
    /// Whether every fact is believed.
    pub(super) fn is_whole(self) -> bool {
        self.doubted.is_none() && self.denied.is_none() && self.left_out.is_none()
    }

    /// Whether a pass or a planner is run.
    pub(super) fn runs(self, pass: &str) -> bool {
        self.left_out != Some(pass) && self.only.is_none_or(|only| only == pass || !PLANNERS.contains(&pass))
    }

    /// What is taken to be true of a fact, of which `found` is known.
    pub(super) fn answer(self, fact: Fact, safe: bool, found: bool) -> bool {
        if self.doubted == Some(fact) {
            safe
        } else if self.denied == Some(fact) {
            !safe
        } else {
            found
        }
    }
}
