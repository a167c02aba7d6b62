//! How programs are damaged. Mostly a word becomes another one that could stand there, or a statement goes, comes or is
//! wrapped, so that Clang often accepts the result and what is after Clang is tested; now and then a word is just
//! removed.

use crate::random::Random;
use crate::words::{Kind, kind, statements, words};

/// Operators that take the same operands.
const ALIKE: &[&[&str]] = &[
    &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"],
    &["<", ">", "<=", ">=", "==", "!=", "&&", "||"],
    &["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="],
    &["++", "--"],
    &[".", "->"],
    &["!", "~", "-"],
];

const TYPES: &[&str] = &[
    "float",
    "int",
    "double",
    "unsigned",
    "bool",
    "char",
    "short",
    "long long",
    "unsigned long long",
    "float2",
    "auto",
];

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "(-1)",
    "2",
    "31",
    "33",
    "0x7fffffff",
    "(-2147483647 - 1)",
    "4294967295u",
    "4294967296ll",
    "'a'",
    "true",
    "18446744073709551615ull",
    "0.5f",
];

const FLOATS: &[&str] =
    &["0.0f", "1.0", "(-0.0f)", "0.5f", "1e-3", "1e30f", "0.1", "1e300", "(1.0f / 0.0f)", "1e-45f", "3", "(0.0 / 0.0)"];

/// What may go without much harm, or come where there is none.
const QUALIFIERS: &[&str] = &[
    "const",
    "volatile",
    "static",
    "inline",
    "constexpr",
    "__restrict__",
    "__device__",
    "__host__",
    "__shared__",
    "__forceinline__",
    "__constant__",
    "unsigned",
    "__global__",
    "extern",
    "mutable",
];

/// `$` is a number or a variable that is one, `@` another.
const OF_NUMBERS: &[&str] = &[
    "(-$)",
    "(!$)",
    "(int)$",
    "(float)$",
    "static_cast<double>($)",
    "(unsigned char)$",
    "($ ? $ : @)",
    "($ > 0 ? @ : $)",
    "(@, $)",
    "($ + @)",
    "($ * @)",
    "($ = @)",
    "($ += @)",
    "($ = $ - @)",
    "$++",
    "--$",
    "(*&$)",
    "($ && @)",
    "($ || @++)",
    "((int)$ << 3)",
    "((unsigned)$ >> (int)@)",
    "fminf($, @)",
    "sizeof($)",
    "(&$)[0]",
    "[&] { return $; }()",
    "[=](auto x) { return x * $; }(@)",
    "__shfl_down_sync(0xffffffffu, $, 1)",
    "make_float2($, @).y",
    "(true ? $ : @)",
    "__float2int_rn($)",
    "float($)",
    "(bool)$",
    "(char)(short)$",
    "$()",
];

/// `$` is a pointer, `@` a number.
const OF_POINTERS: &[&str] = &[
    "($ + 1)",
    "($ + (int)@)",
    "(&$[0])",
    "(&$[(int)@])",
    "(1 + $)",
    "($ ? $ : $ + 1)",
    "(@, $)",
    "(*&$)",
    "($ += 1)",
    "$++",
    "(&*$)",
    "(*$)",
    "[=] { return $; }()",
    "(-$)",
];

/// `$` is the statement, `@` a variable that is a number.
const WRAPPED: &[&str] = &[
    "{ $ }",
    ";$",
    "if (@ > 0) { $ }",
    "if (@) { $ } else { $ }",
    "if (auto c = @) { $ } else if (c == 1) { $ }",
    "for (int q = 0; q < 3; ++q) { $ }",
    "for (int q = 9; q > @; q -= 2) { $ if (q == 4) continue; $ }",
    "for (;;) { $ break; }",
    "for (float q = 0; q < 1; q += 0.25f) { $ }",
    "while (@ > 0) { $ @ -= 1; }",
    "while (@-- > 0) { if (@ == 2) break; $ continue; }",
    "do { $ } while (@ < 0);",
    "do { $ if (@ > 3) continue; @++; } while (@ < 3);",
    "switch ((int)@) { case 1: { $ } case 2: break; default: { $ } }",
    "switch ((int)@) { case 0: case 7: { $ break; } case 2: { $ } }",
    "[&] { $ }();",
    "{ auto& r = @; $ r += r; }",
    "{ auto* p = &@; $ *p = p[0] * 2; }",
    "{ struct S { float a; int b; } s = {1.0f}; $ s.a += s.b; @ = s.a; }",
    "{ float t[4] = {1, 2}; $ t[1] += @; }",
    "{ float t[2][3] = {{1}, {2, 3}}; $ @ = t[1][0]; }",
    "{ float4 v = make_float4(@, 1, 2, 3); $ v.x += v.w; @ = v.x; }",
    "{ __shared__ float t[64]; t[threadIdx.x] = @; __syncthreads(); $ }",
    "if (@ > 2) return; $",
    "__syncthreads(); $",
    "int q = @++ + @; $",
    "@ = @ + 1; $",
    "{ const auto c = @; auto f = [=](auto x) { return x + c; }; $ @ = f(@); }",
    "{ int @ = 3; $ }",
    "{ $ return; }",
];

/// The same text with one to three changes.
pub(crate) fn mutate(text: &str, random: &mut Random) -> String {
    // What the fixture is for is not wanted in a case that is shown.
    let code: String = text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut words = words(&code);
    for _ in 0..=[0, 0, 0, 1, 2][random.below(5)] {
        if words.iter().any(|word| kind(word) != Kind::Blank) {
            change(&mut words, random);
        }
    }
    words.concat()
}

fn change(words: &mut Vec<String>, random: &mut Random) {
    match random.below(20) {
        0 => harsh(words, random),
        1 => exchange_name(words, random),
        2..=4 => replace(words, random, |word| ALIKE.iter().copied().find(|alike| alike.contains(&word))),
        5 => replace(words, random, |word| is_number(word, false).then_some(INTEGERS)),
        6 => replace(words, random, |word| is_number(word, true).then_some(FLOATS)),
        7 => replace(words, random, |word| TYPES.contains(&word).then_some(TYPES)),
        8 => change_type_everywhere(words, random),
        9 => qualify(words, random),
        10..=13 => change_variable(words, random),
        14..=17 => wrap_statement(words, random),
        _ => move_statement(words, random),
    }
}

/// Any word goes, comes again, or changes its place.
fn harsh(words: &mut Vec<String>, random: &mut Random) {
    let solid = places(words, |word| kind(word) != Kind::Blank);
    let (at, other) = (solid[random.below(solid.len())], solid[random.below(solid.len())]);
    match random.below(3) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, words[at].clone()),
        _ => words.swap(at, other),
    }
}

/// A word becomes another one of the list that `list_of` knows for it.
fn replace(words: &mut [String], random: &mut Random, list_of: impl Fn(&str) -> Option<&'static [&'static str]>) {
    let found = places(words, |word| list_of(word).is_some());
    if let Some(at) = pick(&found, random)
        && let Some(list) = list_of(&words[at])
    {
        words[at] = list[random.below(list.len())].to_owned();
    }
}

fn is_number(word: &str, is_float: bool) -> bool {
    kind(word) == Kind::Number && word.contains('.') == is_float
}

/// Any name for any other.
fn exchange_name(words: &mut [String], random: &mut Random) {
    let names = places(words, |word| kind(word) == Kind::Name);
    if let (Some(at), Some(other)) = (pick(&names, random), pick(&names, random)) {
        words[at] = words[other].clone();
    }
}

/// One type for another in the whole program: more of it still fits together than if one word changed.
fn change_type_everywhere(words: &mut [String], random: &mut Random) {
    let types = places(words, |word| TYPES.contains(&word));
    let Some(at) = pick(&types, random) else { return };
    let (old, new) = (words[at].clone(), TYPES[random.below(TYPES.len())]);
    words.iter_mut().filter(|word| **word == old).for_each(|word| *word = new.to_owned());
}

fn qualify(words: &mut [String], random: &mut Random) {
    if random.below(2) == 0 {
        let found = places(words, |word| QUALIFIERS.contains(&word));
        if let Some(at) = pick(&found, random) {
            words[at] = String::new();
        }
        return;
    }
    let types = places(words, |word| TYPES.contains(&word));
    if let Some(at) = pick(&types, random) {
        let ty = &words[at];
        words[at] = match random.below(4) {
            0 => format!("const {ty}"),
            1 => format!("{ty}&"),
            2 => format!("{ty}*"),
            _ => format!("{} {ty}", QUALIFIERS[random.below(QUALIFIERS.len())]),
        };
    }
}

/// A use of a variable, or a number, becomes another variable or a larger expression.
fn change_variable(words: &mut [String], random: &mut Random) {
    let found: Vec<usize> = (0..words.len())
        .filter(|&at| {
            let known = variables(words, at);
            let is_known = known.numbers.contains(&words[at]) || known.pointers.contains(&words[at]);
            kind(&words[at]) == Kind::Number || (is_known && before(words, at) != ".")
        })
        .collect();
    let Some(at) = pick(&found, random) else { return };
    let known = variables(words, at);
    let is_pointer = known.pointers.contains(&words[at]);
    let same = if is_pointer { &known.pointers } else { &known.numbers };
    words[at] = if random.below(3) == 0 && !same.is_empty() {
        same[random.below(same.len())].clone()
    } else {
        let patterns = if is_pointer { OF_POINTERS } else { OF_NUMBERS };
        filled(patterns[random.below(patterns.len())], &words[at], &known.some_number(random))
    };
}

fn wrap_statement(words: &mut Vec<String>, random: &mut Random) {
    let statements = statements(words);
    if !statements.is_empty() {
        let statement = statements[random.below(statements.len())].clone();
        let name = variables(words, statement.start).some_number(random);
        let text = words[statement.clone()].concat();
        let wrapped = filled(WRAPPED[random.below(WRAPPED.len())], &text, &name);
        words.splice(statement, self::words(&wrapped));
    }
}

/// A statement goes, comes again, changes place with the next one, or takes the place of another.
fn move_statement(words: &mut Vec<String>, random: &mut Random) {
    let statements = statements(words);
    if statements.is_empty() {
        return;
    }
    let index = random.below(statements.len());
    let statement = statements[index].clone();
    let copy = words[statement.clone()].to_vec();
    match random.below(4) {
        0 => drop(words.drain(statement)),
        1 => drop(words.splice(statement.start..statement.start, copy)),
        2 => {
            let next = statements.iter().find(|next| next.start >= statement.end).cloned();
            if let Some(next) = next {
                let second = words[next.clone()].to_vec();
                words.splice(next, copy);
                words.splice(statement, second);
            }
        }
        _ => {
            let other = statements[random.below(statements.len())].clone();
            words.splice(other, copy);
        }
    }
}

fn filled(pattern: &str, subject: &str, name: &str) -> String {
    pattern.replace('@', name).replace('$', subject)
}

/// Names that are probably declared at a place.
#[derive(Default)]
struct Variables {
    numbers: Vec<String>,
    pointers: Vec<String>,
}

impl Variables {
    fn some_number(&self, random: &mut Random) -> String {
        match self.numbers.as_slice() {
            [] => "threadIdx.x".to_owned(),
            names => names[random.below(names.len())].clone(),
        }
    }
}

/// Those declared before `at` in its function: a name after a type, or after a star after one.
fn variables(words: &[String], at: usize) -> Variables {
    let mut found = Variables::default();
    // The last two words, and how many braces are open: what a function declares ends with it.
    let (mut earlier, mut last, mut braces) = ("", "", 0usize);
    for word in words[..at].iter().filter(|word| kind(word) != Kind::Blank) {
        let is_type = |word: &str| TYPES.contains(&word);
        if kind(word) == Kind::Name && !is_type(word) && !QUALIFIERS.contains(&word.as_str()) {
            if is_type(last) {
                found.numbers.push(word.clone());
            } else if is_type(earlier) && last == "*" {
                found.pointers.push(word.clone());
            }
        }
        match word.as_str() {
            "{" => braces += 1,
            "}" if braces <= 1 => (found, braces) = (Variables::default(), 0),
            "}" => braces -= 1,
            _ => {}
        }
        if word != "__restrict__" {
            (earlier, last) = (last, word);
        }
    }
    found
}

fn before(words: &[String], at: usize) -> &str {
    words[..at].iter().rfind(|word| kind(word) != Kind::Blank).map_or("", String::as_str)
}

fn places(words: &[String], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    (0..words.len()).filter(|&at| wanted(&words[at])).collect()
}

fn pick(places: &[usize], random: &mut Random) -> Option<usize> {
    (!places.is_empty()).then(|| places[random.below(places.len())])
}
