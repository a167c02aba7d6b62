//! The manual's page of compiler flags, printed from the table so that it cannot be wrong.

use std::fmt::Write;

use super::may_be_glued;
use super::table::{FLAGS, Flag, Takes, To, Translation, Treatment};

/// The sections of the page, with their introductions.
const SECTIONS: &[(&str, &str)] = &[
    ("Passed", "Given to Clang as they are."),
    ("Translated", "Given to Clang in another form."),
    ("Ignored", "Without influence on what the program means, or set aside with a note where it says so."),
    ("Refused", "An error, with the way out. `cotangent cc` leaves those so marked to the compiler that it calls."),
];

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Compiler flags\n\n\
         Words after `--` are compiler flags, as you give them to nvcc:\n\n\
         ```sh\n\
         cotangent run program.cu -- -std=c++20 -I include -gencode arch=compute_90,code=sm_90\n\
         ```\n\n\
         This page says what becomes of each. It is printed by `cargo xtask docs` from the table that the command \
         uses (`crates/cotangent-driver/src/flags/table.rs`); change it there.\n\n\
         A flag with a value takes it as the next word or after `=`; those marked `-X…` also directly after the \
         name. Lists are separated by commas. Objects and libraries (`.o`, `.a`, `.so`) may stand among the flags \
         and are linked. Any other word is an error, and an unknown flag is refused with the nearest known one.\n",
    );
    for (title, introduction) in SECTIONS {
        let _ = write!(page, "\n## {title}\n\n{introduction}\n\n| flag | what becomes of it |\n| --- | --- |\n");
        for flag in FLAGS.iter().filter(|flag| section(flag) == *title) {
            let _ = writeln!(page, "| {} | {} |", spellings(flag), remark(flag));
        }
    }
    page
}

fn section(flag: &Flag) -> &'static str {
    match flag.treatment {
        Treatment::Pass(_) => "Passed",
        Treatment::Translate(_) => "Translated",
        Treatment::Ignore | Treatment::IgnoreAndTell => "Ignored",
        Treatment::Refuse | Treatment::Leave => "Refused",
    }
}

fn spellings(flag: &Flag) -> String {
    let suffix = |name: &str| match flag.takes {
        Takes::Nothing => "",
        _ if may_be_glued(flag, name) => "…",
        Takes::Value | Takes::Attached | Takes::Rest => " x",
    };
    let names: Vec<String> = flag.names.iter().map(|name| format!("`{name}{}`", suffix(name))).collect();
    names.join(", ")
}

fn remark(flag: &Flag) -> String {
    let when = match flag.treatment {
        Treatment::Pass(To::Reading) => "Whenever the text is read. ",
        Treatment::Pass(To::Compiling) => "When compiling for the CPU. ",
        Treatment::Pass(To::Linking) => "When linking for the CPU. ",
        Treatment::IgnoreAndTell => "With a note. ",
        Treatment::Leave => "Not under `cotangent cc`. ",
        Treatment::Translate(Translation::Define(name) | Translation::DefineIfTrue(name)) => {
            return format!("{} (`{name}`)", flag.note);
        }
        Treatment::Translate(_) | Treatment::Ignore | Treatment::Refuse => "",
    };
    format!("{when}{}", flag.note)
}
