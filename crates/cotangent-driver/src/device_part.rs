//! A program without the large library that it includes: the user's own files, in which the library's `#include`s and what
//! the host does with it are blanks. What is left can be compiled for the CPU, with `float` as another type too.

use std::path::{Component, Path, PathBuf};

use cotangent::clang::{Kind, Node};
use cotangent::source::FileId;

use crate::leading::is_include_of_large;
use crate::own_files::{own_files, quoted_include};
use crate::reading::{Failure, Input, check_readable, read_device, with_deep_stack};
use crate::tools::Tools;

/// How declarations that need the library mention it.
const MENTIONS: &[&str] = &["torch", "at::", "c10", "namespace at"];

/// What a header that does not include the library mentions of it in the functions that it declares.
const TENSOR: &str = "at::Tensor";

/// Numbers of the library that device functions take and kernels of other numbers do without.
const NUMBERS: &[&str] = &["at::Half", "c10::Half", "at::BFloat16", "c10::BFloat16", "c10::complex"];

/// Our own header with what kernels use of PyTorch, in place of the first of the library's.
const TENSORS: &str = "#include <cotangent/tensors.h>";

/// A header of the library, and ours in its place.
const SHUFFLES: (&str, &str) = ("ATen/cuda/DeviceUtils.cuh", "#include <cotangent/shuffles.h>");

/// A file of the program without a large library, under the name by which the others include it.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub text: String,
    /// The folder in which what it includes was looked for first.
    pub home: PathBuf,
}

/// A file, and those of the program's headers that include a large library or each other on the way to it, all without the
/// library; nothing if none does. The file itself comes first.
pub fn device_part(tools: &Tools, input: &Input<'_>) -> Result<Option<Vec<Part>>, Failure> {
    check_readable(input.file)?;
    let files = leading_to_large(own_files(input.file, input.flags));
    if !files.iter().any(|(path, _)| path == input.file) {
        return Ok(None);
    }
    with_deep_stack(|| {
        let ast = read_device(tools, input)?;
        let instead = if files.iter().any(|(_, text)| text.contains("Accessor")) { TENSORS } else { "" };
        let read_as = |path: &Path| {
            let whole = path.canonicalize().ok();
            let is_it = |name: &str| Path::new(name).canonicalize().ok() == whole;
            ast.sources.files.entries().find(|(_, file)| is_it(&file.name)).map(|(id, _)| id)
        };
        let ids: Vec<Option<FileId>> = files.iter().map(|(path, _)| read_as(path)).collect();
        let mut names = Names::default();
        for ((_, text), id) in files.iter().zip(&ids) {
            if let Some(id) = id {
                ast.declarations.iter().for_each(|node| names.note(node, *id, text.as_bytes()));
            }
        }
        let host = host_templates(&ast.declarations);
        let part = |((path, text), id): (&(PathBuf, String), &Option<FileId>)| {
            let mut text = text.clone().into_bytes();
            if let Some(id) = *id {
                ast.declarations.iter().for_each(|node| blank_host(node, id, &names, &mut text));
                blank_instantiations(&mut text, &host);
            }
            let text = String::from_utf8(text).unwrap_or_default();
            let mut instead = instead;
            let lines = text.lines().map(|line| {
                if is_include_of_large(line) {
                    let (library, ours) = SHUFFLES;
                    if line.contains(library) {
                        return ours.to_owned();
                    }
                    return std::mem::take(&mut instead).to_owned();
                }
                let included = quoted_include(line).and_then(|name| file_called(&files, name));
                included.map_or_else(|| line.to_owned(), |file| format!("#include \"{}\"", name_of(&files, file)))
            });
            let text = lines.collect::<Vec<_>>().join("\n") + "\n";
            let home = path.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Part { name: name_of(&files, path), text, home: home.to_path_buf() }
        };
        let mut parts: Vec<Part> = files.iter().zip(&ids).map(part).collect();
        if let Some(first) = files.iter().position(|(path, _)| path == input.file) {
            parts.swap(0, first);
        }
        Ok(Some(parts))
    })
}

/// The files that include a large library themselves, or a file that does, and those that only declare what they need of it.
fn leading_to_large(files: Vec<(PathBuf, String)>) -> Vec<(PathBuf, String)> {
    let (mut found, mut rest): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(_, text)| text.lines().any(is_include_of_large));
    if !found.is_empty() {
        let (more, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, text)| has_word(text, TENSOR));
        found.extend(more);
        rest = others;
    }
    loop {
        let leads =
            |text: &str| text.lines().filter_map(quoted_include).any(|name| file_called(&found, name).is_some());
        let (more, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, text)| leads(text));
        if more.is_empty() {
            return found;
        }
        found.extend(more);
        rest = others;
    }
}

/// The file that `#include "name"` means, by the end of its path.
fn file_called<'f>(files: &'f [(PathBuf, String)], name: &str) -> Option<&'f Path> {
    let plain = Path::new(name).components().filter(|part| matches!(part, Component::Normal(_))).collect::<PathBuf>();
    files.iter().map(|(path, _)| path.as_path()).find(|path| path.ends_with(&plain))
}

/// The name of the copy of a file: its own, unless another file has the same.
fn name_of(files: &[(PathBuf, String)], path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let same = files.iter().filter(|(other, _)| other.file_name() == path.file_name());
    match same.map(|(other, _)| other).position(|other| other == path) {
        Some(0) | None => name,
        Some(position) => format!("{position}_{name}"),
    }
}

/// Names that the program gives to what is of the library.
#[derive(Default)]
struct Names {
    /// By `using phalf = at::Half`.
    numbers: Vec<String>,
    /// By `using torch::autograd::Function`.
    others: Vec<String>,
}

impl Names {
    fn note(&mut self, node: &Node, main: FileId, text: &[u8]) {
        if matches!(node.kind, Kind::NamespaceDecl | Kind::LinkageSpecDecl) {
            node.inner.iter().for_each(|child| self.note(child, main, text));
        }
        let words = text.get(node.span.start as usize..node.span.end as usize).map(String::from_utf8_lossy);
        let Some(words) = words.filter(|_| node.span.file == main) else { return };
        match node.kind {
            Kind::TypeAliasDecl | Kind::TypedefDecl if NUMBERS.iter().any(|name| words.contains(name)) => {
                self.numbers.push(node.name().to_owned());
            }
            Kind::UsingDecl if MENTIONS.iter().any(|word| words.contains(word)) => {
                self.others.extend(words.rsplit("::").next().map(|name| name.trim().to_owned()));
            }
            _ => {}
        }
    }

    fn is_number_in(&self, words: &str) -> bool {
        let own = self.numbers.iter().map(String::as_str);
        NUMBERS.iter().copied().chain(own).any(|name| has_word(words, name))
    }

    fn is_other_in(&self, words: &str) -> bool {
        MENTIONS.iter().any(|word| words.contains(word)) || self.others.iter().any(|name| has_word(words, name))
    }
}

/// Blanks a declaration that is the host's or takes a number of the library's, or those of them in a namespace.
fn blank_host(node: &Node, main: FileId, names: &Names, text: &mut [u8]) {
    match node.kind {
        Kind::NamespaceDecl | Kind::LinkageSpecDecl if node.span.file == main && !is_of_macro(node) => {
            node.inner.iter().for_each(|child| blank_host(child, main, names, text));
        }
        _ if node.span.file == main => {
            let range = node.span.start as usize..node.span.end as usize;
            let Some(part) = text.get_mut(range) else { return };
            let is_function =
                matches!(node.kind, Kind::FunctionDecl | Kind::FunctionTemplateDecl | Kind::LinkageSpecDecl);
            let words = String::from_utf8_lossy(part);
            let is_needless = if is_of_device(node) {
                is_function && names.is_number_in(&words)
            } else {
                let is_ours = !is_function && words.contains("Accessor");
                !is_ours && (is_function || names.is_other_in(&words))
            };
            if is_needless {
                blank(part);
            }
        }
        _ => {}
    }
}

/// The names that only functions of the host have among the templates.
fn host_templates(nodes: &[Node]) -> Vec<String> {
    fn collect(nodes: &[Node], host: &mut Vec<String>, device: &mut Vec<String>) {
        for node in nodes {
            match node.kind {
                Kind::NamespaceDecl | Kind::LinkageSpecDecl => collect(&node.inner, host, device),
                Kind::FunctionTemplateDecl if is_of_device(node) => device.push(node.name().to_owned()),
                Kind::FunctionTemplateDecl => host.push(node.name().to_owned()),
                _ => {}
            }
        }
    }
    let (mut host, mut device) = (Vec::new(), Vec::new());
    collect(nodes, &mut host, &mut device);
    host.retain(|name| !device.contains(name));
    host
}

/// Blanks explicit instantiations that mention the library or are of the host's templates: of what they instantiate nothing is
/// left.
fn blank_instantiations(text: &mut [u8], host: &[String]) {
    const WORD: &[u8] = b"template";
    let mut at = 0;
    while let Some(found) = text[at..].windows(WORD.len() + 1).position(|part| part[0] == b'\n' && part[1..] == *WORD) {
        let start = at + found + 1;
        at = start + WORD.len();
        let is_instantiation = text[at..].trim_ascii_start().first().is_some_and(|next| *next != b'<');
        let Some(length) = text[start..].iter().position(|byte| *byte == b';').filter(|_| is_instantiation) else {
            continue;
        };
        let part = &mut text[start..=start + length];
        let words = String::from_utf8_lossy(part);
        let instantiated = words.split('(').next().unwrap_or_default();
        let is_of_host = host.iter().any(|name| has_word(instantiated, name));
        if !words.contains("__global__") && (is_of_host || MENTIONS.iter().any(|word| words.contains(word))) {
            blank(part);
        }
    }
}

/// Lines keep their numbers.
fn blank(part: &mut [u8]) {
    part.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    text.match_indices(word)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next()))
}

/// Whether a macro writes it.
fn is_of_macro(node: &Node) -> bool {
    node.spelling.is_some()
}

/// Whether it is a function or variable of the device, or a template of one.
fn is_of_device(node: &Node) -> bool {
    const ATTRIBUTES: &[Kind] =
        &[Kind::CUDAGlobalAttr, Kind::CUDADeviceAttr, Kind::CUDAConstantAttr, Kind::CUDASharedAttr];
    let is_marked = |node: &Node| ATTRIBUTES.iter().any(|kind| node.has_written(*kind));
    is_marked(node) || (node.kind == Kind::FunctionTemplateDecl && node.inner.iter().any(is_marked))
}
