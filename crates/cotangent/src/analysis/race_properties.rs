//! The proofs against all threads of small launches: where one calls an addition plain, and the stores race in none of
//! the launches, no two threads add to one element.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::race_tests::decide;
use crate::ir::text;

/// What an index is made of, and the statement's guard and loop.
#[derive(Clone, Debug)]
struct Access {
    /// Factors of `i`, `threadIdx.y`, the counter `k`, `n`, `i * m`, `k * n` and 1.
    factors: [i64; 7],
    wrapping: Wrapping,
    guard: usize,
    /// None, or which of the loops.
    head: usize,
}

/// What is done with the sum.
#[derive(Clone, Copy, Debug)]
enum Wrapping {
    Nothing,
    Half,
    Gather,
}

const GUARDS: [&str; 5] = ["true", "(i < n)", "(i < m)", "((threadIdx.y as int) == 0)", "(!(i >= n) && (i < m))"];
const HEADS: [&str; 7] = [
    "k: int = 0; k < 1; k += 1",
    "k: int = 0; k < m; k += 1",
    "k: int = (m - 1); k >= 0; k -= 1",
    "k: int = 0; k < n; k += 1",
    "k: int = i; k < n; k += s",
    "k: int = (i + ((((((n - i) + s) - 1) / s) - 1) * s)); k >= i; k -= s",
    NUMBERED,
];

/// The strided loop, its iterations numbered from the last to the first; `k` is computed inside.
const NUMBERED: &str = "c: int = ((i < n) ? ((((n - i) - 1) / s) + 1) : 0); c > 0; c -= 1";

/// A launch of `blocks` blocks of `width` times `height` threads.
#[derive(Clone, Copy)]
struct Launch {
    n: i64,
    m: i64,
    blocks: i64,
    width: i64,
    height: i64,
}

impl Access {
    fn text(&self, array: &str, operator: &str) -> String {
        let atoms = ["i", "(threadIdx.y as int)", "k", "n", "(i * m)", "(k * n)", "1"];
        let term = |(factor, atom): (&i64, &str)| format!("({factor} * {atom})");
        let terms: Vec<_> = self.factors.iter().zip(atoms).filter(|(factor, _)| **factor != 0).map(term).collect();
        let sum = terms.into_iter().reduce(|sum, term| format!("({sum} + {term})")).unwrap_or("0".to_owned());
        let index = match self.wrapping {
            Wrapping::Nothing => sum,
            Wrapping::Half => format!("({sum} / 2)"),
            Wrapping::Gather => format!("idx[{sum}]"),
        };
        let (guard, head) = (GUARDS[self.guard], HEADS[self.head]);
        let counter = if head == NUMBERED { "let k: int = (i + ((c - 1) * s));" } else { "" };
        format!("if {guard} {{ for {head} {{ {counter} {array}[{index}] {operator} x[0]; }} }}")
    }

    /// The indices that a thread makes the access with.
    fn indices(&self, launch: Launch, i: i64, y: i64) -> Vec<i64> {
        let Launch { n, m, blocks, width, .. } = launch;
        let is_reached = [true, i < n, i < m, y == 0, i < n && i < m][self.guard];
        if !is_reached {
            return Vec::new();
        }
        let stride = usize::try_from(blocks * width).expect("a launch has threads");
        let counts: Vec<i64> = match self.head {
            0 => vec![0],
            1 | 2 => (0..m).collect(),
            3 => (0..n).collect(),
            _ => (i..n).step_by(stride).collect(),
        };
        let index = |k: i64| {
            let sum: i64 =
                self.factors.iter().zip([i, y, k, n, i * m, k * n, 1]).map(|(factor, atom)| factor * atom).sum();
            match self.wrapping {
                Wrapping::Nothing => sum,
                Wrapping::Half => sum / 2,
                Wrapping::Gather => (sum * sum + 3 * sum).rem_euclid(11),
            }
        };
        counts.into_iter().map(index).collect()
    }
}

/// Whether two threads make one of the accesses to the same element.
fn collide(accesses: &[&Access], launch: Launch) -> bool {
    let mut owners = BTreeMap::new();
    for i in 0..launch.blocks * launch.width {
        for y in 0..launch.height {
            for index in accesses.iter().flat_map(|access| access.indices(launch, i, y)) {
                if *owners.entry(index).or_insert((i, y)) != (i, y) {
                    return true;
                }
            }
        }
    }
    false
}

fn launches() -> impl Iterator<Item = Launch> {
    let extents =
        (1..=2).flat_map(|blocks| (1..=3).flat_map(move |width| (1..=2).map(move |height| (blocks, width, height))));
    extents.flat_map(|(blocks, width, height)| {
        (0..=3).flat_map(move |n| (0..=3).map(move |m| Launch { n, m, blocks, width, height }))
    })
}

fn accesses() -> impl Strategy<Value = Access> {
    let factor = || prop_oneof![3 => Just(0i64), 3 => Just(1i64), 1 => -2i64..=3];
    let factors = [
        factor().boxed(),
        rare().boxed(),
        rare().boxed(),
        rare().boxed(),
        rare().boxed(),
        rare().boxed(),
        factor().boxed(),
    ];
    let wrapping = prop_oneof![6 => Just(Wrapping::Nothing), 1 => Just(Wrapping::Half), 1 => Just(Wrapping::Gather)];
    (factors, wrapping, 0..GUARDS.len(), 0..HEADS.len()).prop_map(|(factors, wrapping, guard, head)| Access {
        factors,
        wrapping,
        guard,
        head,
    })
}

fn rare() -> impl Strategy<Value = i64> {
    prop_oneof![6 => Just(0i64), 2 => Just(1i64), 1 => -1i64..=2]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn plain_additions_never_meet(store in accesses(), first in accesses(), second in accesses(), like_store in any::<[bool; 2]>()) {
        // Most random guards and loops do not match; half of them are made to.
        let matching = |mut access: Access, is_like: bool| {
            if is_like {
                (access.guard, access.head) = (store.guard, store.head);
            }
            access
        };
        let (first, second) = (matching(first, like_store[0]), matching(second, like_store[1]));
        let body = [store.text("y", "="), first.text("d_x", "+="), second.text("d_x", "+=")].join("\n");
        let text = format!(
            "kernel k(x: const float*, y: float*, d_x: float*, d_y: float*, n: int, m: int, idx: const int*) {{
               let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);
               let s: int = ((gridDim.x * blockDim.x) as int);
               {body} }}"
        );
        let module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if decide(&module) == "pp" {
            for launch in launches().filter(|launch| !collide(&[&store], *launch)) {
                prop_assert!(!collide(&[&first, &second], launch), "{text}");
            }
        }
    }
}
