//! The manual's page of the CUDA runtime, printed from the tables so that it cannot be wrong.

use std::fmt::Write;

use super::super::unsupported::{FAMILIES, Unsupported, unsupported, unsupported_runtime_functions};
use super::table::Row;
use super::{PREPARATIONS, RuntimeClass as Class, SET_EVENT, STREAM_WAITS, WAIT_FOR_DEVICE, row, rows};

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Calls of the CUDA runtime\n\n\
         What a host function may call, and what its derivatives call for it. This page is printed by `cargo xtask docs` \
         from the tables that the compiler uses (`crates/cotangent/src/rules/runtime/table.rs` and `unsupported.rs`); \
         change it there.\n\n\
         The forward sweep of a gradient makes the calls of the program, except where it says so below. *Adjoint* is \
         what the reverse sweep calls for it, where active values are touched. *Tangent* is what forward mode calls \
         after it. The functions of namespace `cotangent` are in `<cotangent/runtime.hpp>`.\n",
    );
    for section in SECTIONS {
        let _ = write!(page, "\n## {}\n\n{}\n\n", section.title, section.text);
        page += "| call | adjoint | tangent |\n| --- | --- | --- |\n";
        for row in rows().filter(|row| !is_maker(row) && section_of(row.class) == Some(section.title)) {
            let _ = writeln!(page, "| `{}` | {} | {} |", row.written, adjoint(row.class), tangent(row));
        }
    }
    page += "\n## Calls of derivatives\n\n\
             Only derivatives call these. A function that calls them for active values is not differentiated again \
             (C0204).\n\n";
    let own = rows().filter(|row| section_of(row.class).is_none());
    page += &own.map(|row| format!("`{}`", row.name)).collect::<Vec<_>>().join(", ");
    page += ".\n\n## Left out\n\n\
             These prepare the device for a kernel, and change nothing that it computes. Launches with dynamic shared \
             memory ask for as much as they need (`cotangent::check_block`).\n\n";
    page += &PREPARATIONS.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    page += ".\n\n## Refused\n\n\
             These are declared, and a function that is read may not call them (C0107).\n\n\
             | call | what to do instead |\n| --- | --- |\n";
    for name in unsupported_runtime_functions() {
        let instead = unsupported(name).map_or("", |found| found.instead);
        let _ = writeln!(page, "| `{name}` | {instead} |");
    }
    page += "\nOf others it is known by how their names begin what to do instead; the first row that fits is taken.\n\n\
             | begins with | what it is | what to do instead |\n| --- | --- | --- |\n";
    for family in FAMILIES {
        let Unsupported { what, instead } = family.is;
        let _ = writeln!(page, "| `{}` | {what} | {instead} |", family.beginning);
    }
    page
}

struct Section {
    title: &'static str,
    text: &'static str,
}

const fn section(title: &'static str, text: &'static str) -> Section {
    Section { title, text }
}

/// What each class of calls is, in words.
const SECTIONS: &[Section] = &[
    section(
        ALLOCATIONS,
        "New memory. Memory of zeros is allocated beside it for its derivatives, in both modes where the program \
         allocates. The reverse sweep frees both where it comes to the allocation, if the function frees it at all.",
    ),
    section(
        FREES,
        "The forward sweep of a gradient leaves them out, since the reverse sweep still needs the memory. The function \
         must free what it allocates in the same block.",
    ),
    section(
        COPIES,
        "What a copy carried forth comes back by an addition: adjoints of the target are added to those of the source, \
         and cleared. From what is constant, and for a fill, the derivatives of the target are cleared. The second name \
         is called where several streams may add at once.",
    ),
    section(
        SYMBOLS,
        "Copies to and from a variable outside functions. If the variable is named, it has derivatives in memory, and \
         they are copied as any others.",
    ),
    section(
        MAKERS,
        "Streams and events live to the end of the gradient: the reverse sweep ends them where it comes to their making, \
         if the function ends them at all.",
    ),
    section(
        ENDS,
        "The forward sweep of a gradient leaves them out, since the reverse sweep still needs the stream or event.",
    ),
    section(
        ORDERS,
        "What is done in a stream is undone in the same stream, so that what waited is waited for. Before a stream sets \
         an event in the reverse sweep it waits for it, because several streams may have waited for one event.",
    ),
    section(QUERIES, "They ask or configure, and touch nothing that carries derivatives. They stay where they are."),
];

const ALLOCATIONS: &str = "Allocations";
const FREES: &str = "Frees";
const COPIES: &str = "Copies and fills";
const SYMBOLS: &str = "Copies of variables";
const MAKERS: &str = "New streams and events";
const ENDS: &str = "Ends of streams and events";
const ORDERS: &str = "Waits and events";
const QUERIES: &str = "Questions and settings";

/// The title of the section that a class is in.
fn section_of(class: Class) -> Option<&'static str> {
    match class {
        Class::Allocate { .. } | Class::Memory { .. } => Some(ALLOCATIONS),
        Class::Free { .. } => Some(FREES),
        Class::Move(_) => Some(COPIES),
        Class::Symbol(_) => Some(SYMBOLS),
        Class::Create { .. } => Some(MAKERS),
        Class::Destroy => Some(ENDS),
        Class::Synchronize | Class::Record | Class::WaitFor => Some(ORDERS),
        Class::Query => Some(QUERIES),
        Class::Own => None,
    }
}

/// Whether an allocation becomes this call: it is told where the allocation is.
fn is_maker(row: &Row) -> bool {
    rows().any(|other| matches!(other.class, Class::Allocate { maker } if maker == row.name))
}

fn adjoint(class: Class) -> String {
    match class {
        Class::Allocate { maker } => row(maker).map(|maker| adjoint(maker.class)).unwrap_or_default(),
        Class::Memory { zeros, free } => format!("`{zeros}`, later `{free}`"),
        Class::Move(moved) => match moved.from {
            Some(source) => format!("`{}`, `{}`; `{}`", source.add.name, source.add_at_once, moved.clear.name),
            None => format!("`{}`", moved.clear.name),
        },
        Class::Symbol(symbol) => {
            let source = symbol.source;
            format!("`{}`, `{}`; `{}`", source.add.name, source.add_at_once, symbol.clear.name)
        }
        Class::Create { wait, destroy } => {
            wait.into_iter().chain([destroy]).map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ")
        }
        Class::Synchronize => format!("`{WAIT_FOR_DEVICE}`"),
        Class::Record => format!("`{STREAM_WAITS}`"),
        Class::WaitFor => format!("`{STREAM_WAITS}`, `{SET_EVENT}`"),
        Class::Free { .. } | Class::Destroy | Class::Query | Class::Own => "nothing".to_owned(),
    }
}

fn tangent(row: &Row) -> String {
    match row.class {
        Class::Allocate { maker } => super::row(maker).map(tangent).unwrap_or_default(),
        Class::Memory { zeros, .. } => format!("`{zeros}`"),
        Class::Free { .. } => "the same".to_owned(),
        Class::Move(moved) => match moved.from {
            Some(_) => format!("the same; `{}`", moved.clear.name),
            None => format!("`{}`", moved.clear.name),
        },
        Class::Symbol(symbol) => {
            format!("`{}`, in a stream `{}`; `{}`", symbol.copy.name, symbol.copy_async, symbol.clear.name)
        }
        Class::Create { .. }
        | Class::Destroy
        | Class::Synchronize
        | Class::Record
        | Class::WaitFor
        | Class::Query
        | Class::Own => "nothing".to_owned(),
    }
}
