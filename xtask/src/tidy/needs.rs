//! What tests and steps use of the machine, compared with what `cargo xtask setup` installs, so that the gate passes
//! where only setup was run. Seen are programs that are started or looked for by a literal name, names of compilers in
//! any string, flags that link something (`-fsanitize=`, `-l`, `-fuse-ld=`), and the commands of the gate. A name that
//! is put together at run time is not seen.

use proc_macro2::{TokenStream, TokenTree};

use super::complaint::Complaint;
use crate::setup::table::{CARGO_SUBCOMMANDS, Kind, OPTIONAL, PACKAGES};
use crate::workspace::SourceFile;

/// Where flags and names of compilers are only read: nothing here is passed on as it stands.
const WORDS_ARE_DATA: &[&str] =
    &["crates/cotangent-driver/src/flags/", "crates/cotangent-driver/src/cc/", "xtask/src/tidy/"];

/// The gate.
const GATE: &str = ".ci/run";

/// The page that says what setup installs.
const PAGE: &str = "CONTRIBUTING.md";

/// Words of a shell that start nothing.
const SHELL_WORDS: &[&str] = &[
    "set", "cd", "export", "local", "shift", "printf", "echo", "trap", "exit", "return", "true", "false", "fi", "done",
    "}", "{", "[", "esac",
];

/// Words of a shell after which a command stands.
const BEFORE_COMMANDS: &[&str] = &["if", "then", "else", "elif", "while", "do", "!", "exec"];

/// Subcommands that every cargo has, and our own.
const CARGO_OWN: &[&str] = &["build", "check", "run", "test", "bench", "doc", "install", "xtask"];

/// What a line uses.
type Need = (Kind, String);

/// Checks all files.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files {
        let needs = match file.path.as_str() {
            GATE => needs_of_shell(&file.text),
            path if path.ends_with(".rs") => needs_of_rust(path, &file.text),
            _ => Vec::new(),
        };
        let unmet = needs.into_iter().filter(|(_, need)| !is_met(need));
        complaints.extend(unmet.map(|(line, need)| Complaint::new(&file.path, line, message(&need))));
    }
    complaints.extend(files.iter().filter(|file| file.path == PAGE).flat_map(missing_on_page));
    complaints
}

fn is_met((kind, name): &Need) -> bool {
    let is_in = |table: &[(&str, &str)], name: &str| table.iter().any(|(known, _)| *known == name);
    let is_brought = PACKAGES.iter().flat_map(|package| package.brings).any(|thing| *thing == (*kind, name.as_str()));
    match kind {
        Kind::Program => is_brought || is_in(OPTIONAL, name),
        Kind::CargoSubcommand => {
            let is_own = CARGO_OWN.contains(&name.as_str());
            is_own || is_in(CARGO_SUBCOMMANDS, name) || is_in(OPTIONAL, &format!("cargo-{name}"))
        }
        Kind::Sanitizer | Kind::Library | Kind::PythonModule | Kind::File => is_brought,
    }
}

fn message((kind, name): &Need) -> String {
    let (what, table) = match kind {
        Kind::Program => (format!("the program `{name}`"), "PACKAGES, or to OPTIONAL if nothing fails without it,"),
        Kind::Sanitizer => (format!("the runtime of `-fsanitize={name}`"), "PACKAGES"),
        Kind::Library => (format!("the library of `-l{name}`"), "PACKAGES"),
        Kind::PythonModule => (format!("Python's module `{name}`"), "PACKAGES"),
        Kind::File => (format!("the file `{name}`"), "PACKAGES"),
        Kind::CargoSubcommand => (format!("`cargo {name}`"), "CARGO_SUBCOMMANDS"),
    };
    format!(
        "{what} is used here, but `cargo xtask setup` does not install it; add it to {table} in xtask/src/setup/table.rs"
    )
}

/// Packages that the page does not name.
fn missing_on_page(page: &SourceFile) -> Vec<Complaint> {
    let packages = PACKAGES.iter().map(|package| package.name);
    let brought = packages.chain(CARGO_SUBCOMMANDS.iter().map(|(_, brought_by)| *brought_by));
    let missing = brought.filter(|name| !page.text.contains(&format!("`{name}`")));
    missing
        .map(|name| Complaint::new(PAGE, 1, format!("setup installs `{name}`, and this page does not say so")))
        .collect()
}

fn needs_of_rust(path: &str, text: &str) -> Vec<(usize, Need)> {
    let mut needs = Vec::new();
    // A file that cannot be read is complained about elsewhere.
    if let Ok(tokens) = text.parse::<TokenStream>() {
        let words_are_data = WORDS_ARE_DATA.iter().any(|folder| path.starts_with(folder));
        collect(tokens, words_are_data, &mut needs);
    }
    needs
}

fn collect(tokens: TokenStream, words_are_data: bool, needs: &mut Vec<(usize, Need)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (position, token) in tokens.iter().enumerate() {
        let line = token.span().start().line;
        match token {
            // Attributes, and with them documentation.
            TokenTree::Group(_) if is_punct(position.checked_sub(1).map(|before| &tokens[before]), '#') => {}
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                if starts_program(&tokens[..position])
                    && let Some(name) = first.as_ref().and_then(string)
                {
                    needs.push((line, (Kind::Program, name)));
                }
                collect(group.stream(), words_are_data, needs);
            }
            TokenTree::Literal(_) if !words_are_data => {
                let found = string(token).map(|text| needs_of_word(&text)).unwrap_or_default();
                needs.extend(found.into_iter().map(|need| (line, need)));
            }
            TokenTree::Literal(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
    needs.dedup();
}

/// Whether what stands before an argument list starts a program or looks for one.
fn starts_program(before: &[TokenTree]) -> bool {
    let is_ident = |token: &TokenTree, name: &str| matches!(token, TokenTree::Ident(ident) if ident == name);
    match before {
        [.., command, first, second, new] if is_ident(new, "new") => {
            is_ident(command, "Command") && is_punct(Some(first), ':') && is_punct(Some(second), ':')
        }
        [.., last] => is_ident(last, "find_in_path"),
        [] => false,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// The value of a string.
fn string(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| text.value())
}

/// What a word of a command line needs.
fn needs_of_word(word: &str) -> Vec<Need> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_+.-".contains(letter))
    };
    if let Some(sanitizers) = word.strip_prefix("-fsanitize=") {
        return sanitizers
            .split(',')
            .filter(|name| is_name(name))
            .map(|name| (Kind::Sanitizer, name.to_owned()))
            .collect();
    }
    if let Some(linker) = word.strip_prefix("-fuse-ld=").filter(|name| is_name(name)) {
        return vec![(Kind::Program, format!("ld.{linker}"))];
    }
    if let Some(library) = word.strip_prefix("-l").filter(|name| is_name(name)) {
        return vec![(Kind::Library, library.to_owned())];
    }
    let (name, version) = word.split_once('-').unwrap_or((word, "0"));
    let is_compiler = ["clang", "clang++", "gcc", "g++"].contains(&name);
    if is_compiler && version.chars().all(|letter| letter.is_ascii_digit()) {
        return vec![(Kind::Program, word.to_owned())];
    }
    Vec::new()
}

/// The commands of a script, as far as they stand at the beginning of a line or after `step "NAME"`.
fn needs_of_shell(text: &str) -> Vec<(usize, Need)> {
    let functions: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_suffix("() {")).collect();
    let mut needs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(program) = line.strip_prefix("#!/usr/bin/env ") {
            needs.push((index + 1, (Kind::Program, program.to_owned())));
        }
        let command =
            line.strip_prefix("step \"").and_then(|rest| rest.split_once("\" ")).map_or(line, |(_, rest)| rest);
        let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_identifier(name));
        let skipped = |word: &&str| *word == "env" || BEFORE_COMMANDS.contains(word) || is_assignment(word);
        // An assignment may have a value with blanks, but then nothing is started on that line.
        let mut words = command.split_whitespace().skip_while(skipped).map(|word| word.trim_end_matches(';'));
        let Some(name) = words.next().filter(|name| is_program_name(name)) else { continue };
        if functions.contains(&name) || SHELL_WORDS.contains(&name) || line.ends_with("() {") {
            continue;
        }
        needs.push((index + 1, (Kind::Program, name.to_owned())));
        if let Some(subcommand) = words.next().filter(|_| name == "cargo") {
            needs.push((index + 1, (Kind::CargoSubcommand, subcommand.to_owned())));
        }
    }
    needs
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_program_name(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_+.-{}[".contains(letter)) && !word.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(Complaint::to_string).collect()
    }

    /// The names that a text is complained about for.
    fn complained(path: &str, text: &str) -> Vec<String> {
        let name = |message: &String| message.split('`').nth(1).unwrap_or_default().to_owned();
        messages(path, text).iter().map(name).collect()
    }

    #[test]
    fn a_program_that_setup_does_not_install_is_named_with_its_place() {
        let text = "fn f() {\n    Command::new(\"ninja\").arg(\"-j2\");\n    Command::new(\"make\");\n}\n";
        let found = messages("a.rs", text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:2: the program `ninja` is used here"), "{found:?}");
        assert!(found[0].contains("PACKAGES"), "{found:?}");
    }

    #[test]
    fn names_are_found_wherever_a_program_is_started_or_looked_for() {
        assert_eq!(complained("a.rs", "fn f() { std::process::Command::new(\"gdb\"); }"), ["gdb"]);
        assert_eq!(complained("a.rs", "fn f() { environment.find_in_path(\"ccache\"); }"), ["ccache"]);
        assert_eq!(complained("a.rs", "fn f() { compile(\"x.c\", \"clang-18\", &[]); }"), ["clang-18"]);
        assert_eq!(complained("a.rs", "fn f() { vec![\"gcc-13\", \"clang++-19\"]; }"), ["gcc-13"]);
        assert_eq!(complained("a.rs", "fn f() { Command::new(path); Command::new(env!(\"CARGO\")); }"), [""; 0]);
    }

    #[test]
    fn flags_that_link_something_are_found() {
        let text = "fn f() { g(&[\"-fsanitize=address,memory\", \"-lomp\", \"-lm\", \"-fuse-ld=lld\", \"-c\"]); }";
        assert_eq!(complained("a.rs", text), ["-fsanitize=memory", "-lomp", "ld.lld"]);
        assert_eq!(complained("crates/cotangent-driver/src/flags/a.rs", text), [""; 0], "these are only read");
        assert_eq!(complained("a.rs", "/// -fsanitize=memory\n#[doc = \"-lomp\"]\nfn f() {}"), [""; 0]);
    }

    /// The tape's tests did this while setup installed Clang alone.
    #[test]
    fn the_runtime_of_a_sanitizer_is_not_part_of_clang() {
        let clang = PACKAGES.iter().find(|package| package.name == "clang-19").unwrap();
        let runtime = (Kind::Sanitizer, "address");
        assert!(!clang.brings.contains(&runtime));
        assert!(PACKAGES.iter().any(|package| package.brings.contains(&runtime)));
    }

    #[test]
    fn commands_of_the_gate_are_found() {
        let gate = "#!/usr/bin/env bash\nset -e\nx=\"$(f a)\"\nstep() {\n  \"$@\"\n}\nstep \"one\" cargo xtask tidy\n\
                    step \"two\" env A=\"b\" cargo udeps\n  if shellcheck x; then\nstep \"three\" step\nexport A=b\n";
        assert_eq!(complained(GATE, gate), ["cargo udeps", "shellcheck"]);
        assert_eq!(complained(GATE, "#!/usr/bin/env zsh\n"), ["zsh"]);
    }

    #[test]
    fn the_page_names_every_package() {
        let names = PACKAGES.iter().map(|package| package.name);
        let all = names.chain(CARGO_SUBCOMMANDS.iter().map(|(_, brought_by)| *brought_by));
        let page: String = all.map(|name| format!("`{name}`\n")).collect();
        assert_eq!(complained(PAGE, &page), [""; 0]);
        assert_eq!(complained(PAGE, &page.replace("`libclang-rt-19-dev`", "")), ["libclang-rt-19-dev"]);
    }
}
