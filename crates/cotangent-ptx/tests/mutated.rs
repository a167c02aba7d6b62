//! Damaged texts: an error or a stopped launch, never a panic or a hang.

use std::sync::Arc;

use cotangent_cpu::abi::Dim;
use cotangent_cpu::check::{Checker, Options, Site, Space};
use cotangent_cpu::kernel::{Kernel, Shape};
use cotangent_ptx::Module;

/// What is damaged: all kinds of statements, taken from what nvcc emits.
const TEXTS: [&str; 3] =
    [include_str!("texts/block.ptx"), include_str!("texts/calls.ptx"), include_str!("texts/arithmetic.ptx")];

/// How many, of each text.
const COUNT: u64 = 3_400;

/// More than any of the texts needs.
const LIMIT: u64 = 20_000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[test]
fn damaged_texts_are_refused_or_stopped() {
    for text in TEXTS {
        assert_eq!(run(text), Ok(()), "the text itself runs");
        let mut outcomes = [0; 3];
        for seed in 0..COUNT {
            let damaged = damaged(text, &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            outcomes[match run(&damaged) {
                Ok(()) => 0,
                Err("refused") => 1,
                Err(_) => 2,
            }] += 1;
        }
        assert!(outcomes.iter().all(|count| *count > 20), "every outcome is met: {outcomes:?}");
    }
}

/// One to four changes: bytes, words, lines.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let words: Vec<&str> = text.split_inclusive([' ', ',', '\n', '.', ';']).collect();
        let (from, to) = (random.below(words.len()), random.below(words.len()));
        text = match random.below(6) {
            0 => words.iter().enumerate().filter(|(index, _)| *index != from).map(|(_, word)| *word).collect(),
            1 => words.iter().enumerate().map(|(index, word)| if index == to { words[from] } else { *word }).collect(),
            2 => words
                .iter()
                .enumerate()
                .flat_map(|(index, word)| [*word, if index == to { words[from] } else { "" }])
                .collect(),
            3 => {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let gone = random.below(lines.len());
                lines.iter().enumerate().filter(|(index, _)| *index != gone).map(|(_, line)| *line).collect()
            }
            4 => {
                let number =
                    ["0", "1", "31", "64", "4294967295", "18446744073709551615", "-1", "0x80000000"][random.below(8)];
                words.iter().enumerate().map(|(index, word)| if index == to { number } else { *word }).collect()
            }
            _ => {
                let mut bytes = text.clone().into_bytes();
                let at = random.below(bytes.len());
                bytes[at] = b" %.,;{}()[]0129rdfp_@!+-<>|:"[random.below(28)];
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
    }
    text
}

/// Loads a text and runs its first kernel, with every access checked.
fn run(text: &str) -> Result<(), &'static str> {
    let mut checker = Checker::new(Options::default());
    let mut memory: Vec<Vec<u128>> = Vec::new();
    let mut place = |bytes: usize| {
        if bytes > 1 << 20 {
            return std::ptr::null_mut();
        }
        memory.push(vec![0; bytes / 16 + 1]);
        let address = memory.last_mut().map_or(std::ptr::null_mut(), |block| block.as_mut_ptr().cast::<u8>());
        checker.allocate(address as usize, bytes, Space::Device, Site::Unknown);
        address
    };
    let array = place(4096);
    let module = Module::load(text, &mut |variable| place(variable.bytes)).map_err(|_| "refused")?;
    let module = Arc::new(module);
    let name = module.kernels().next().ok_or("refused")?.to_owned();
    let bytes = module
        .kernel(&name)
        .map_or(0, |kernel| kernel.parameters.iter().map(|slot| slot.offset + slot.bytes).max().unwrap_or(0));
    let mut arguments = [array as u64, 32].iter().flat_map(|argument| argument.to_le_bytes()).collect::<Vec<u8>>();
    arguments.resize(bytes.clamp(16, 4096), 0);
    let bound = module.bind(&name, arguments).ok_or("refused")?.with_limit(LIMIT);
    let shape = Shape { grid: Dim { x: 1, y: 1, z: 1 }, block: Dim { x: 40, y: 1, z: 1 }, shared_bytes: 0 };
    checker.begin_launch(&name, [1; 3], [40, 1, 1], Site::Unknown);
    let outcome = bound.run_block(&shape, Dim { x: 0, y: 0, z: 0 }, 0, Some(&mut checker));
    checker.end_launch();
    outcome.map_err(|_| "stopped")
}
