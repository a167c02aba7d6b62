//! Reads the user's compiler flags. People hand us the words that they give nvcc; [`read`] turns them into what Clang
//! wants for parsing, what it wants for compiling for the CPU, and the architectures. What each flag becomes is
//! data, in `table.rs`; a flag that is not there is refused with the nearest one that is.
//!
//! The spelling rules are nvcc's: `-flag value` and `-flag=value` for flags with a value, `-Ivalue` too for the
//! short ones, lists separated by commas unless quoted or escaped.

mod manual;
mod parts;
mod table;

use std::fmt;
use std::path::PathBuf;

pub use manual::page;
pub(crate) use parts::{Kind, Part, parts};
use table::{FLAGS, Flag, Takes, To, Translation, Treatment};

/// What the user's flags mean to us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParseFlags {
    /// For Clang, whenever it reads the user's text: `-I`, `-D`, `-std=…`.
    pub clang_args: Vec<String>,
    /// For Clang when it compiles for the CPU: `-O3`, `-g`, the words of `-Xcompiler`.
    pub cpu_args: Vec<String>,
    /// For linking the program: `-L`, `-l`, objects and libraries.
    pub link_args: Vec<String>,
    /// The architectures asked for, in order, each once.
    pub archs: Vec<Arch>,
    /// Files of the program that are read after the first.
    pub others: Vec<PathBuf>,
    /// What to tell the user: flags that were set aside although they may matter.
    pub notes: Vec<FlagNote>,
}

impl ParseFlags {
    /// The architecture whose view of the device code we take: the first one asked for, else sm_80.
    pub fn arch(&self) -> Arch {
        self.archs.first().copied().unwrap_or(Arch::new(80))
    }

    /// A flag that asks for architectures without naming them, such as `-arch=native`.
    pub(crate) fn unknown_arch(&self) -> Option<&str> {
        self.notes.iter().find(|note| note.note == UNKNOWN_ARCH).map(|note| note.flag.as_str())
    }
}

const UNKNOWN_ARCH: &str = "The device code is read as for sm_80; name an architecture to choose another.";

/// A GPU architecture: `sm_80`, `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arch {
    /// Compute capability times ten.
    pub number: u32,
    /// `a` for features of exactly this architecture, `f` for those of its family.
    pub suffix: Option<char>,
}

impl Arch {
    /// An architecture without a suffix.
    pub const fn new(number: u32) -> Self {
        Self { number, suffix: None }
    }

    /// From `sm_80`, `compute_80`, `lto_80`, `sm_90a`.
    pub fn from_word(word: &str) -> Option<Self> {
        let (_, name) = word.split_once('_').filter(|(kind, _)| matches!(*kind, "sm" | "compute" | "lto"))?;
        let digits = name.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        let suffix = match &name[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        Some(Self { number: digits.parse().ok()?, suffix })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(out, "{suffix}"))
    }
}

/// A remark about one of the user's flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagNote {
    pub flag: String,
    pub note: &'static str,
}

/// A flag that we do not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    #[error("the compiler flag `{flag}` is not supported\n  {way_out}")]
    Refused { flag: String, way_out: &'static str },
    #[error(
        "unknown compiler flag `{flag}`{}\n  The flags that Cotangent takes are those of nvcc; one for the host compiler goes after -Xcompiler.",
        nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
    )]
    Unknown { flag: String, nearest: Option<&'static str> },
    #[error("the compiler flag `{flag}` needs a value")]
    MissingValue { flag: String },
    #[error("the compiler flag `{flag}` cannot be `{value}`\n  Expected: {expected}.")]
    BadValue { flag: String, value: String, expected: &'static str },
    #[error(
        "`{word}` among the compiler flags is not a flag\n  Cotangent takes one source file, before `--`. Words for the program go after --args."
    )]
    NotAFlag { word: String },
}

/// Reads flags as nvcc would.
pub fn read(words: &[String]) -> Result<ParseFlags, FlagError> {
    let mut flags = ParseFlags::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if is_linkable(word) {
            flags.link_args.push(word.clone());
            continue;
        }
        let (spelled, found) = find(word)?;
        let value = match found {
            Found::Whole if spelled.flag.wants_value() => {
                let missing = || FlagError::MissingValue { flag: word.clone() };
                rest.next().ok_or_else(missing)?.as_str()
            }
            Found::Whole => "",
            Found::With(value) => value,
        };
        apply(spelled.flag, word, value, &mut flags)?;
    }
    Ok(flags)
}

/// A flag under one of its names.
#[derive(Clone, Copy)]
struct Spelled {
    flag: &'static Flag,
    name: &'static str,
}

/// How a word matched a flag of the table.
enum Found<'word> {
    /// It is the flag; a value, if there is one, is the next word.
    Whole,
    /// The flag and its value in one word.
    With(&'word str),
}

/// The flag that a word spells. A whole match wins over a prefix (`-lineinfo` is not `-l ineinfo`), and a longer
/// prefix over a shorter one.
fn find(word: &str) -> Result<(Spelled, Found<'_>), FlagError> {
    let spellings = || FLAGS.iter().flat_map(|flag| flag.names.iter().map(move |name| Spelled { flag, name }));
    if let Some(spelled) = spellings().find(|spelled| spelled.name == word) {
        return Ok((spelled, Found::Whole));
    }
    if let Some((name, value)) = word.split_once('=') {
        let with_value = |spelled: &Spelled| spelled.name == name && spelled.flag.wants_value();
        if let Some(spelled) = spellings().find(with_value) {
            return Ok((spelled, Found::With(value)));
        }
    }
    let longest = spellings()
        .filter(|Spelled { flag, name }| may_be_glued(flag, name) && word.starts_with(name))
        .max_by_key(|spelled| spelled.name.len());
    match longest {
        Some(spelled) => Ok((spelled, Found::With(&word[spelled.name.len()..]))),
        None if word.starts_with('-') => {
            let name = word.split('=').next().unwrap_or(word);
            Err(FlagError::Unknown { flag: word.to_owned(), nearest: nearest(name) })
        }
        None => Err(FlagError::NotAFlag { word: word.to_owned() }),
    }
}

/// Whether more letters may follow this spelling in the same word.
fn may_be_glued(flag: &Flag, name: &str) -> bool {
    flag.takes == Takes::Rest || (flag.takes == Takes::Attached && !name.starts_with("--"))
}

fn apply(flag: &'static Flag, word: &str, value: &str, flags: &mut ParseFlags) -> Result<(), FlagError> {
    match flag.treatment {
        Treatment::Pass(to) => {
            let destination = destination(to, flags);
            match flag.takes {
                Takes::Nothing => destination.push(flag.names[0].to_owned()),
                Takes::Rest => destination.push(word.to_owned()),
                Takes::Attached => destination.extend(split_list(value).map(|item| format!("{}{item}", flag.names[0]))),
                Takes::Value => {
                    destination.extend(split_list(value).flat_map(|item| [flag.names[0].to_owned(), item]));
                }
            }
        }
        Treatment::Translate(translation) => translate(translation, word, value, flags)?,
        Treatment::Ignore => {}
        Treatment::IgnoreAndTell => flags.notes.push(FlagNote { flag: word.to_owned(), note: flag.note }),
        Treatment::Refuse | Treatment::Leave => {
            return Err(FlagError::Refused { flag: word.to_owned(), way_out: flag.note });
        }
    }
    Ok(())
}

fn translate(translation: Translation, word: &str, value: &str, flags: &mut ParseFlags) -> Result<(), FlagError> {
    let bad_value = |expected| Err(FlagError::BadValue { flag: word.to_owned(), value: value.to_owned(), expected });
    match translation {
        Translation::Define(name) => flags.clang_args.push(format!("-D{name}")),
        Translation::DefineIfTrue(name) => match value {
            "true" => flags.clang_args.push(format!("-D{name}")),
            "false" => {}
            _ => return bad_value("true or false"),
        },
        Translation::Equals(to, name) => destination(to, flags).push(format!("{name}={value}")),
        Translation::Standard => match value {
            "c++11" | "c++14" | "c++17" | "c++20" | "c++23" | "gnu++11" | "gnu++14" | "gnu++17" | "gnu++20"
            | "gnu++23" => flags.clang_args.push(format!("-std={value}")),
            _ => return bad_value("c++11, c++14, c++17, c++20 or c++23"),
        },
        Translation::Language => {
            if !matches!(value, "cu" | "cuda") {
                return bad_value("cu, since Cotangent reads CUDA");
            }
        }
        Translation::Optimize => match value {
            "0" | "1" | "2" | "3" | "s" | "g" => flags.cpu_args.push(format!("-O{value}")),
            "" => flags.cpu_args.push("-O2".to_owned()),
            // nvcc accepts higher numbers for its host compiler, where they mean 3.
            _ if value.parse::<u32>().is_ok() => flags.cpu_args.push("-O3".to_owned()),
            _ => return bad_value("a number from 0 to 3"),
        },
        Translation::DefaultStream => match value {
            "legacy" | "null" => {}
            "per-thread" => flags.clang_args.push("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1".to_owned()),
            _ => return bad_value("legacy, null or per-thread"),
        },
        Translation::Architecture => match (Arch::from_word(value), value) {
            (Some(arch), _) => add_arch(arch, flags),
            (None, "native" | "all" | "all-major") => {
                flags.notes.push(FlagNote { flag: word.to_owned(), note: UNKNOWN_ARCH });
            }
            (None, _) => return bad_value("an architecture such as sm_80 or compute_90"),
        },
        Translation::GenerateCode => {
            // The text sees the architecture that is compiled for (`arch=`), not those it is assembled for (`code=`).
            let arch = value.split(',').find_map(|part| Arch::from_word(part.strip_prefix("arch=")?));
            match arch {
                Some(arch) => add_arch(arch, flags),
                None => return bad_value("arch=compute_80,code=sm_80"),
            }
        }
        Translation::HostOptions => split_list(value).for_each(|option| host_option(option, flags)),
        Translation::Library => {
            let replaced = ["cudart", "cudart_static", "cudadevrt", "cuda"];
            let wanted = split_list(value).filter(|library| !replaced.contains(&library.as_str()));
            flags.link_args.extend(wanted.map(|library| format!("-l{library}")));
        }
        Translation::LinkerOptions => {
            flags.link_args.extend(split_list(value).flat_map(|option| ["-Xlinker".to_owned(), option]));
        }
    }
    Ok(())
}

fn destination(to: To, flags: &mut ParseFlags) -> &mut Vec<String> {
    match to {
        To::Reading => &mut flags.clang_args,
        To::Compiling => &mut flags.cpu_args,
        To::Linking => &mut flags.link_args,
    }
}

/// One word for the host compiler. Those that change what the text says are needed when parsing as well.
fn host_option(option: String, flags: &mut ParseFlags) {
    let reading = ["-I", "-D", "-U", "-isystem", "-iquote", "-include", "-std="];
    let linking = ["-l", "-L", "-Wl,"];
    if reading.iter().any(|prefix| option.starts_with(prefix)) {
        flags.clang_args.push(option);
    } else if linking.iter().any(|prefix| option.starts_with(prefix)) {
        flags.link_args.push(option);
    } else {
        flags.cpu_args.push(option);
    }
}

fn add_arch(arch: Arch, flags: &mut ParseFlags) {
    if !flags.archs.contains(&arch) {
        flags.archs.push(arch);
    }
}

/// Objects and libraries may stand among the flags, as for nvcc.
fn is_linkable(word: &str) -> bool {
    !word.starts_with('-') && [".o", ".a", ".so"].iter().any(|end| word.ends_with(end))
}

/// nvcc's lists: separated by commas, except inside double quotes or after a backslash, which then disappears.
fn split_list(value: &str) -> impl Iterator<Item = String> {
    let mut items = vec![String::new()];
    let mut quoted = false;
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        let item = items.last_mut().expect("there is always an item");
        match letter {
            ',' if !quoted => items.push(String::new()),
            '\\' if letters.peek() == Some(&',') => item.extend(letters.next()),
            _ => {
                quoted ^= letter == '"';
                item.push(letter);
            }
        }
    }
    items.into_iter().filter(|item| !item.is_empty())
}

/// The known flag that differs least from `word`, if it differs by little.
fn nearest(word: &str) -> Option<&'static str> {
    let bare = |name: &str| name.trim_start_matches('-').replace('_', "-").to_lowercase();
    let wanted = bare(word);
    FLAGS
        .iter()
        .flat_map(|flag| flag.names.iter().copied())
        .map(|name| (edit_distance(&bare(name), &wanted), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= wanted.len() / 3)
        .map(|(_, name)| name)
}

/// How many letters must be put in, left out or replaced to make one word the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
