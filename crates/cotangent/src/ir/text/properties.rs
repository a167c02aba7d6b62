//! What holds of the text form of every module, and of every text.

use std::time::{Duration, Instant};

use proptest::prelude::{ProptestConfig, proptest};

use crate::ir::text::{parse, print};
use crate::ir::{MAX_DEPTH, Module, arbitrary, validate};

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_modules_are_valid(module in arbitrary::modules(1500)) {
        let violations = validate(&module).err().unwrap_or_default();
        let violations: Vec<_> = violations.iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{violations:#?}\n{}", print(&module));
    }

    #[test]
    fn what_is_printed_is_parsed_as_the_same(module in arbitrary::modules(1500)) {
        assert_same_after_printing(&module);
    }
}

fn assert_same_after_printing(module: &Module) {
    let text = print(module);
    let parsed = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&parsed), text);
    assert!(parsed == *module, "the same text, but another module:\n{text}");
}

/// A small generator of numbers: the test is the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// A text with a few bytes changed, removed or repeated, or without its end.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let start = random.below(bytes.len());
        let end = (start + random.below(40)).min(bytes.len());
        match random.below(5) {
            0 if start < bytes.len() => bytes[start] = random.next() as u8,
            1 if start < bytes.len() => bytes[start] = b"(){}[]<>*&-+.,;:#`\"\\0123456789ef"[random.below(32)],
            2 => drop(bytes.drain(start..end)),
            3 => {
                let copy = bytes[start..end].repeat(1 + random.below(20));
                bytes.splice(start..start, copy);
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len() / 4 + 1)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_texts_are_modules_or_errors() {
    let begin = Instant::now();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let texts: Vec<String> = (0..50)
        .map(|_| {
            let numbers: Vec<u32> = (0..600).map(|_| random.next() as u32).collect();
            print(&arbitrary::module(&numbers))
        })
        .chain([include_str!("everything.cot").to_owned()])
        .collect();
    let mut parsed = 0;
    for index in 0..10_000 {
        let text = mutate(&texts[index % texts.len()], &mut random);
        if let Ok(module) = parse(&text) {
            parsed += 1;
            if validate(&module).is_ok() {
                assert_same_after_printing(&module);
            }
        }
    }
    println!("{parsed} of 10,000 were parsed, {:?}, {} MB", begin.elapsed(), peak_memory_megabytes());
    assert!(parsed > 100 && parsed < 9_900, "{parsed} mutated texts were parsed: the mutations are no test");
    assert!(begin.elapsed() < Duration::from_secs(120), "mutated texts took {:?}", begin.elapsed());
    assert!(peak_memory_megabytes() < 500, "mutated texts took {} MB", peak_memory_megabytes());
}

/// As far as the system tells.
fn peak_memory_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
    kilobytes.unwrap_or(0u64) / 1024
}

#[test]
fn deep_texts_are_errors() {
    let count = 100_000;
    let texts = [
        format!("host x: int = {}1", "(".repeat(count)),
        format!("host x: int = {}1;", "-".repeat(count)),
        format!("host x: int{};", "*".repeat(count)),
        format!("host x: int{};", "[1]".repeat(count)),
        format!("host x: int{};", "[1]*".repeat(count)),
        format!("host f(b: bool) {{ {} }}", "if b { ".repeat(count)),
        format!("host f(b: bool) {{ if b {{}} {} }}", "else if b {}".repeat(count)),
        format!("record R {{ r: R* }} host f(r: R*) {{ r{} = r; }}", "->r".repeat(count)),
        format!("host x: int = {}1", "f(".repeat(count)),
    ];
    for text in texts {
        assert!(parse(&text).is_err(), "{}", &text[..60]);
    }
}

#[test]
fn as_deep_as_is_valid() {
    let not = |levels: usize| format!("host f(b: bool) {{\n  b = {}(b && -(1.0f));\n}}\n", "!".repeat(levels));
    let branches = |levels: usize| format!("host f(b: bool) {{ {} }}", nested("if b { ", levels));
    for text in [not(MAX_DEPTH - 4), branches(MAX_DEPTH - 1)] {
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_same_after_printing(&module);
    }
    let fields = format!("record R {{ r: R* }} host f(r: R*) {{ r = r{}; }}", "->r".repeat(MAX_DEPTH / 3));
    let module = parse(&fields).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(validate(&module), Ok(()));
    assert_same_after_printing(&module);
}

fn nested(open: &str, levels: usize) -> String {
    format!("{}{}", open.repeat(levels), "}".repeat(levels))
}

#[test]
fn large_modules_are_fast() {
    let mut text = String::from("kernel k(n: int, x: const float*, y: float*) {\n");
    for index in 0..5_000 {
        text.push_str(&format!("  let t{index}: float = ((x[{index}] * y[(n + {index})]) + sqrtf(x[n]));\n"));
        text.push_str(&format!("  y[{index}] = (t{index} / 2.0f);\n"));
    }
    text.push_str("}\n");
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let times = (0..5).map(|_| {
        let begin = processor_time();
        let printed = print(&module);
        let parsed = parse(&printed);
        let elapsed = processor_time().saturating_sub(begin);
        assert!(parsed.is_ok_and(|parsed| parsed == module));
        elapsed
    });
    let fastest = times.min().unwrap_or_default();
    println!("print and parse of 10,000 statements: {fastest:?}");
    // A test build is slower than a release build.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 50 });
    assert!(fastest < limit, "print and parse took {fastest:?}");
}

/// The time that this thread has run, whatever else runs on the machine; nothing where the system does not tell.
fn processor_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
