//! Finds in a compiler's command line what `cotangent cc` must know: inputs, flags for reading them, where dependencies
//! are written. Files of further words (`--options-file`, `@file`) are put in their place first.

use std::path::{Path, PathBuf};

use super::copies::Copies;
use super::mentions::mentions;
use crate::environment::Environment;
use crate::flags::{Kind, Part, parts};

/// A command line, taken apart.
pub(super) struct Line {
    /// The compiler first, files of words put in their place.
    words: Vec<String>,
    /// Which words are inputs in CUDA.
    pub(super) inputs: Vec<usize>,
    /// Words that nvcc takes from the environment, to be read but not repeated.
    from_environment: Vec<String>,
    is_clang: bool,
}

const OUTPUT: &[&str] = &["-o", "--output-file"];
const LANGUAGE: &[&str] = &["-x", "--x"];
const OPTIONS_FILE: &[&str] = &["-optf", "--options-file"];
const DEPENDENCY_FILE: &[&str] = &["-MF", "--dependency-output"];
const FOLDERS: &[&str] = &["-I", "--include-path", "-isystem", "--system-include", "-iquote"];
/// What the header wants to know, for one that is read before the copy (`-include`).
const ANSWERED: &str = "-DCOTANGENT_ANSWERED=1";
/// Nested more deeply, files of words include themselves.
const MOST_NESTED: usize = 10;

impl Line {
    pub(super) fn read(environment: &Environment, words: &[String]) -> Self {
        Self::read_in(environment, words, Path::new(""))
    }

    /// The same for a line that runs in a folder: the files of words are named from there.
    pub(super) fn read_in(environment: &Environment, words: &[String], folder: &Path) -> Self {
        let words = expanded(words.to_vec(), folder, MOST_NESTED);
        let leading = words.iter().take_while(|word| !word.starts_with('-') && !is_cuda_name(word));
        let is_clang = leading.last().is_some_and(|compiler| file_name(compiler).contains("clang"));
        let from_environment = match is_clang {
            true => Vec::new(),
            false => environment.nvcc_flags.iter().flat_map(|text| split_words(text)).collect(),
        };
        let inputs = inputs(&words, is_clang);
        Self { words, inputs, from_environment, is_clang }
    }

    /// The file that a word names.
    pub(super) fn path(&self, at: usize) -> PathBuf {
        PathBuf::from(&self.words[at])
    }

    /// Whether an input, or a header that it includes, has this word.
    pub(super) fn mentions(&self, file: &Path, word: &str) -> bool {
        let parts = parts(&self.words);
        let folders = parts.iter().filter_map(|part| value_of(part, FOLDERS));
        let folders: Vec<PathBuf> = folders.flat_map(|list| list.split(',').map(PathBuf::from)).collect();
        mentions(file, &folders, word)
    }

    /// The flags that say how the inputs are to be read; not those about products, which are the compiler's own matter.
    pub(super) fn flags_for_reading(&self) -> Vec<String> {
        let mut words = self.from_environment.clone();
        words.extend_from_slice(&self.words);
        let is_wanted = |part: &Part<'_>| match part.kind {
            Kind::File(_) => false,
            Kind::Flag { name, is_left, .. } => !is_left && !LANGUAGE.contains(&name),
            Kind::Unknown => true,
        };
        let wanted = parts(&words).into_iter().filter(is_wanted).flat_map(|part| part.words);
        wanted.map(|at| words[at].clone()).collect()
    }

    /// The line with copies in the place of inputs, and what they need to be read as the inputs are.
    pub(super) fn changed(&self, copies: &Copies, folder: &Path, headers: &Path) -> Vec<String> {
        let mut words = self.words.clone();
        for file in &copies.all {
            words[file.word] = file.copy.display().to_string();
        }
        // nvcc separates lists by commas.
        let spelled = |path: &Path| match self.is_clang {
            true => path.display().to_string(),
            false => path.display().to_string().replace(',', "\\,"),
        };
        let mut added = vec!["-I".to_owned(), spelled(headers), ANSWERED.to_owned()];
        added.extend(match self.is_clang {
            true => ["-iquote".to_owned(), spelled(folder)],
            false => ["-Xcompiler".to_owned(), format!("-iquote,{}", spelled(folder))],
        });
        // Before the first word that is no program: the compiler may stand after another launcher.
        let place = parts(&self.words).into_iter().find(|part| match part.kind {
            Kind::File(_) => self.inputs.contains(&part.words.start),
            Kind::Flag { .. } | Kind::Unknown => true,
        });
        let place = place.map_or(1, |part| part.words.start).max(1);
        words.splice(place..place, added);
        words
    }

    /// Where dependencies may be written: the file that is named, else those that compilers make up.
    pub(super) fn dependency_files(&self) -> Vec<PathBuf> {
        if let Some(named) = self.value(DEPENDENCY_FILE) {
            return vec![PathBuf::from(named)];
        }
        let output = self.value(OUTPUT).map(|output| Path::new(output).with_extension("d"));
        let beside = self.inputs.iter().map(|at| PathBuf::from(file_name(&self.words[*at])).with_extension("d"));
        output.into_iter().chain(beside).collect()
    }

    /// The files that the line says are to be written.
    pub(super) fn named_outputs(&self) -> Vec<PathBuf> {
        [OUTPUT, DEPENDENCY_FILE].into_iter().filter_map(|names| self.value(names)).map(PathBuf::from).collect()
    }

    /// The last value of a flag.
    fn value(&self, names: &[&str]) -> Option<&str> {
        parts(&self.words).iter().rev().find_map(|part| value_of(part, names))
    }
}

fn value_of<'words>(part: &Part<'words>, names: &[&str]) -> Option<&'words str> {
    match part.kind {
        Kind::Flag { name, value, .. } if names.contains(&name) => Some(value),
        Kind::Flag { .. } | Kind::File(_) | Kind::Unknown => None,
    }
}

/// An input is CUDA by its name, unless `-x` says what it is: for nvcc wherever it stands, for Clang from there on.
fn inputs(words: &[String], is_clang: bool) -> Vec<usize> {
    let parts = parts(words);
    let language = |parts: &[Part<'_>]| parts.iter().rev().find_map(|part| value_of(part, LANGUAGE).map(str::to_owned));
    let anywhere = language(&parts);
    let mut inputs = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Kind::File(name) = part.kind else { continue };
        let stated = if is_clang { language(&parts[..at]) } else { anywhere.clone() };
        let is_cuda = match stated.as_deref() {
            None | Some("none") => is_cuda_name(name),
            // Programs in front of the line are no sources, and neither are objects and libraries.
            Some("cu" | "cuda") => part.words.start > 0 && is_source_name(name),
            Some(_) => false,
        };
        if is_cuda {
            inputs.push(part.words.start);
        }
    }
    inputs
}

fn is_cuda_name(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "cu")
}

fn is_source_name(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| !["o", "obj", "a", "so", "lib"].contains(&extension))
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Files of words in the place where they are named. One that cannot be read stays, for the compiler to complain about.
fn expanded(words: Vec<String>, folder: &Path, depth: usize) -> Vec<String> {
    let of_file = |path: &str| std::fs::read_to_string(folder.join(path)).ok().map(|text| split_words(&text));
    let replaced = |part: &Part<'_>| match part.kind {
        Kind::Flag { name, value, .. } if OPTIONS_FILE.contains(&name) => {
            value.split(',').map(of_file).collect::<Option<Vec<_>>>().map(|files| files.concat())
        }
        Kind::File(name) => name.strip_prefix('@').and_then(of_file),
        Kind::Flag { .. } | Kind::Unknown => None,
    };
    let mut result = Vec::new();
    for part in parts(&words) {
        match replaced(&part) {
            Some(inner) if depth > 0 => result.extend(expanded(inner, folder, depth - 1)),
            _ => result.extend_from_slice(&words[part.words]),
        }
    }
    result
}

/// Words as in a shell without its expansions: blanks separate, quotes of both kinds and backslashes protect.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::read(&Environment::default(), &split_words(text))
    }

    fn inputs_of(text: &str) -> Vec<String> {
        let line = line(text);
        line.inputs.iter().map(|at| line.words[*at].clone()).collect()
    }

    #[test]
    fn inputs_are_found_as_build_systems_write_them() {
        for (text, expected) in [
            ("nvcc -c x.cu -o x.o", &["x.cu"][..]),
            // CMake's.
            (
                "nvcc -forward-unknown-to-host-compiler -DA -Iinc -O3 -std=c++17 --generate-code=arch=compute_80,code=[sm_80] \
                 -MD -MT o/x.cu.o -MF o/x.cu.o.d -x cu -c /s/x.cu -o o/x.cu.o",
                &["/s/x.cu"],
            ),
            // PyTorch's.
            (
                "/usr/local/cuda/bin/nvcc --generate-dependencies-with-compile --dependency-output x.o.d -DTORCH_API_INCLUDE_EXTENSION_H \
                 -isystem a -c -c /s/x.cu -o /b/x.o --expt-relaxed-constexpr --compiler-options '-fPIC' -gencode=arch=compute_80,code=sm_80",
                &["/s/x.cu"],
            ),
            ("nvcc a.cu b.cu c.cpp d.o -o prog", &["a.cu", "b.cu"]),
            ("nvcc -x cu kernel.cpp -c", &["kernel.cpp"]),
            ("nvcc kernel.cpp -c -x cu", &["kernel.cpp"]),
            ("clang++ -x cuda a.cpp -x c++ b.cu", &["a.cpp"]),
            ("ccache nvcc -x cu -dc a.c", &["a.c"]),
            ("nvcc --include-path x.cu -c y.cc", &[]),
            ("nvcc --version", &[]),
            ("nvcc -dlink a.o b.o -o c.o", &[]),
        ] {
            assert_eq!(inputs_of(text), expected, "{text}");
        }
    }

    #[test]
    fn flags_about_products_are_not_read() {
        let flags = line("nvcc -x cu -ptx -dc -DA=1 x.cu y.o -MF d -rdc=true --cuda-path=/c").flags_for_reading();
        assert_eq!(flags, ["-dc", "-DA=1", "-MF", "d", "-rdc=true"]);
    }

    #[test]
    fn words_of_the_environment_are_read_but_not_repeated() {
        let environment = Environment { nvcc_flags: ["-DFROM='1 2'".into(), "-O1".into()], ..Environment::default() };
        let line = Line::read(&environment, &split_words("nvcc -c x.cu"));
        assert_eq!(line.flags_for_reading(), ["-DFROM=1 2", "-O1", "-c"]);
        assert_eq!(line.words, ["nvcc", "-c", "x.cu"]);
    }

    #[test]
    fn files_of_words_are_put_in_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("inner"), "-I \"a b\"\nx.cu\n").unwrap();
        std::fs::write(path("outer"), format!("-DA @{}", path("inner"))).unwrap();
        std::fs::write(path("endless"), format!("-DB @{}", path("endless"))).unwrap();
        let text = format!("nvcc --options-file {} -c @/no/such/file -optf={}", path("outer"), path("inner"));
        let line = line(&text);
        assert_eq!(line.words, ["nvcc", "-DA", "-I", "a b", "x.cu", "-c", "@/no/such/file", "-I", "a b", "x.cu"]);
        assert_eq!(inputs_of(&format!("nvcc @{}", path("endless"))), [""; 0]);
    }

    #[test]
    fn dependencies_are_looked_for_where_compilers_write_them() {
        for (text, expected) in [
            ("nvcc -MD -MF a.d -c s/x.cu -o b/x.o", &["a.d"][..]),
            ("nvcc -MD -c s/x.cu -o b/x.o", &["b/x.d", "x.d"]),
            ("nvcc -MD -c s/x.cu", &["x.d"]),
        ] {
            let found = line(text).dependency_files();
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn copies_take_the_inputs_place() {
        let line = line("ccache nvcc -O3 -c s/x.cu -o x.o");
        let mut copies = Copies::new().unwrap();
        copies.write(line.inputs[0], line.path(line.inputs[0]), "").unwrap();
        let copy = copies.all[0].copy.display().to_string();
        let folder = copies.folder(&line).unwrap();
        let words = line.changed(&copies, &folder, Path::new("h,h")).join(" ");
        let expected = "ccache nvcc -I h\\,h -DCOTANGENT_ANSWERED=1 -Xcompiler -iquote,s -O3 -c";
        assert_eq!(words, format!("{expected} {copy} -o x.o"));
        let other = Line::read(&Environment::default(), &split_words("nvcc a/x.cu b/x.cu"));
        assert!(copies.folder(&other).is_err());
    }
}
