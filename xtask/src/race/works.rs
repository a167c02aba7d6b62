//! The works of the race on the CPU, as data: which files hold them, what is differentiated, how large they are, and what
//! their gradients are to cost.

/// What arrays that the function overwrites hold after the gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// What the function leaves in them.
    Kept,
    /// What they held before the call.
    RolledBack,
    /// Whatever a peer leaves in them; it is not compared.
    Unspecified,
}

/// A gradient written by hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hand {
    pub(super) name: &'static str,
    /// `xtask/race/cpu/hand/FILE.h`.
    pub(super) file: &'static str,
    pub(super) function: &'static str,
    pub(super) state: State,
}

/// How large a work is, and what its gradient may cost, with the value, against the function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) words: &'static [u32],
    pub(super) goal: f64,
    /// For the form in which arrays end as they began.
    pub(super) rolled_back_goal: Option<f64>,
}

/// One function and its gradients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// On the page.
    pub(super) name: &'static str,
    /// `xtask/race/cpu/primal/FILE.h`; a peer's call of it is in `clad/FILE.h` and `enzyme/FILE.h`.
    pub(super) file: &'static str,
    /// `xtask/race/cpu/works/FILE.h`.
    pub(super) data: &'static str,
    pub(super) function: &'static str,
    /// The parameters to differentiate with respect to.
    pub(super) wrt: &'static [&'static str],
    /// The first is what all others are compared with, and is called `by hand`.
    pub(super) hands: &'static [Hand],
    /// What `--rollback` names, for works that overwrite arrays.
    pub(super) rolls_back: Option<&'static str>,
    /// Whether the function returns a number, which a caller may drop.
    pub(super) has_value: bool,
    pub(super) sizes: &'static [Size],
    /// A size at which everything is over at once.
    pub(super) small: &'static [u32],
    /// Whether its values are recorded: then memory is divided by updates.
    pub(super) records: bool,
    /// How many calls deep it is, if it is a chain of calls: its text is made then, and in no file.
    pub(super) depth: Option<u32>,
}

const fn hand(file: &'static str, function: &'static str) -> Hand {
    Hand { name: BY_HAND, file, function, state: State::Kept }
}

const fn size(words: &'static [u32], goal: f64) -> Size {
    Size { words, goal, rolled_back_goal: None }
}

/// What every gradient is compared with.
pub(super) const BY_HAND: &str = "by hand";

/// All of them.
pub(super) const WORKS: &[Work] = &[
    Work {
        name: "sum of squares",
        file: "sum_of_squares",
        data: "sum_of_squares",
        function: "sum_of_squares",
        wrt: &["x"],
        hands: &[hand("sum_of_squares", "sum_of_squares_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[1_000_000], 1.1)],
        small: &[100],
        records: false,
        depth: None,
    },
    Work {
        name: "scalar product",
        file: "dot",
        data: "dot",
        function: "dot",
        wrt: &["x", "y"],
        hands: &[hand("dot", "dot_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[1_000_000], 1.2)],
        small: &[100],
        records: false,
        depth: None,
    },
    Work {
        name: "Black-Scholes, polynomial",
        file: "black_scholes",
        data: "options",
        function: "call_price",
        wrt: &["spot", "strike", "years", "rate", "volatility"],
        hands: &[hand("black_scholes", "call_price_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[1_000_000], 1.5)],
        small: &[50],
        records: false,
        depth: None,
    },
    Work {
        name: "Black-Scholes, erfc",
        file: "black_scholes_erfc",
        data: "options",
        function: "call_price_erfc",
        wrt: &["spot", "strike", "years", "rate", "volatility"],
        hands: &[hand("black_scholes_erfc", "call_price_erfc_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[1_000_000], 1.3)],
        small: &[50],
        records: false,
        depth: None,
    },
    Work {
        name: "contraction to a sum",
        file: "contraction_sum",
        data: "contraction_sum",
        function: "contraction_sum",
        wrt: &["a", "b"],
        hands: &[hand("contraction_sum", "contraction_sum_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[24], 2.1)],
        small: &[4],
        records: false,
        depth: None,
    },
    Work {
        name: "contraction to an array",
        file: "contraction",
        data: "contraction",
        function: "contraction",
        wrt: &["a", "b", "c"],
        hands: &[
            hand("contraction", "contraction_by_hand"),
            Hand { name: "by hand, same loops", ..hand("contraction_same_loops", "contraction_same_loops") },
        ],
        rolls_back: None,
        has_value: false,
        sizes: &[size(&[24], 2.1)],
        small: &[4],
        records: false,
        depth: None,
    },
    Work {
        name: "Burgers in place",
        file: "burgers",
        data: "burgers",
        function: "burgers",
        wrt: &["u"],
        hands: &[
            hand("burgers_kept", "burgers_kept_by_hand"),
            Hand { name: ROLLED_BACK_BY_HAND, state: State::RolledBack, ..hand("burgers", "burgers_by_hand") },
        ],
        rolls_back: Some("u"),
        has_value: true,
        sizes: &[
            Size { words: &[1000, 500], goal: 2.5, rolled_back_goal: Some(2.0) },
            Size { words: &[10_000, 2000], goal: 3.6, rolled_back_goal: Some(2.9) },
        ],
        small: &[20, 7],
        records: true,
        depth: None,
    },
    Work {
        name: "Burgers, two arrays",
        file: "burgers_two_arrays",
        data: "burgers_two_arrays",
        function: "burgers_two_arrays",
        wrt: &["u", "v"],
        hands: &[
            hand("burgers_two_arrays", "burgers_two_arrays_by_hand<false>"),
            Hand {
                name: ROLLED_BACK_BY_HAND,
                state: State::RolledBack,
                ..hand("burgers_two_arrays", "burgers_two_arrays_by_hand<true>")
            },
        ],
        rolls_back: Some("u"),
        has_value: true,
        sizes: &[
            Size { words: &[1000, 500], goal: 6.5, rolled_back_goal: Some(5.8) },
            Size { words: &[10_000, 2000], goal: 15.0, rolled_back_goal: Some(12.0) },
        ],
        small: &[20, 7],
        records: true,
        depth: None,
    },
    Work {
        name: "pair potential",
        file: "pair_potential",
        data: "pair_potential",
        function: "pair_potential",
        wrt: &["x", "y", "z", "q"],
        hands: &[hand("pair_potential", "pair_potential_by_hand")],
        rolls_back: None,
        has_value: true,
        sizes: &[size(&[1024], 2.0)],
        small: &[20],
        records: false,
        depth: None,
    },
];

const ROLLED_BACK_BY_HAND: &str = "by hand, rolled back";

/// Chains of calls, each of which calls the next.
pub(super) const CHAINS: &[Work] = &[
    chain("chain of 10 calls", "link_9", &[hand("chain", "chain_by_hand<10>")], 10),
    chain("chain of 50 calls", "link_49", &[hand("chain", "chain_by_hand<50>")], 50),
    chain("chain of 200 calls", "link_199", &[hand("chain", "chain_by_hand<200>")], 200),
];

const CHAIN_SIZES: &[Size] = &[size(&[2000], 4.0)];

const fn chain(name: &'static str, function: &'static str, hands: &'static [Hand], depth: u32) -> Work {
    Work {
        name,
        file: "chain",
        data: "chain",
        function,
        wrt: &["x"],
        hands,
        rolls_back: None,
        has_value: true,
        sizes: CHAIN_SIZES,
        small: &[10],
        records: false,
        depth: Some(depth),
    }
}
