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

/// Our own header with what kernels use of PyTorch, in place of the first of the library's.
const TENSORS: &str = "#include <cotangent/tensors.h>";

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
        let part = |(path, text): &(PathBuf, String)| {
            let mut text = text.clone().into_bytes();
            let whole = path.canonicalize().ok();
            let is_read_as = |name: &str| Path::new(name).canonicalize().ok() == whole;
            if let Some((id, _)) = ast.sources.files.entries().find(|(_, file)| is_read_as(&file.name)) {
                ast.declarations.iter().for_each(|node| blank_host(node, id, &mut text));
            }
            let text = String::from_utf8(text).unwrap_or_default();
            let mut instead = instead;
            let lines = text.lines().map(|line| {
                if is_include_of_large(line) {
                    return std::mem::take(&mut instead).to_owned();
                }
                let included = quoted_include(line).and_then(|name| file_called(&files, name));
                included.map_or_else(|| line.to_owned(), |file| format!("#include \"{}\"", name_of(&files, file)))
            });
            let text = lines.collect::<Vec<_>>().join("\n") + "\n";
            let home = path.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Part { name: name_of(&files, path), text, home: home.to_path_buf() }
        };
        let mut parts: Vec<Part> = files.iter().map(part).collect();
        if let Some(first) = files.iter().position(|(path, _)| path == input.file) {
            parts.swap(0, first);
        }
        Ok(Some(parts))
    })
}

/// The files that include a large library themselves, or a file that does.
fn leading_to_large(files: Vec<(PathBuf, String)>) -> Vec<(PathBuf, String)> {
    let (mut found, mut rest): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(_, text)| text.lines().any(is_include_of_large));
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

/// Blanks a declaration that is the host's, or those of them in a namespace.
fn blank_host(node: &Node, main: FileId, text: &mut [u8]) {
    match node.kind {
        Kind::NamespaceDecl | Kind::LinkageSpecDecl if node.span.file == main && !is_of_macro(node) => {
            node.inner.iter().for_each(|child| blank_host(child, main, text));
        }
        _ if node.span.file == main && !is_of_device(node) => {
            let range = node.span.start as usize..node.span.end as usize;
            let Some(part) = text.get_mut(range) else { return };
            let is_function =
                matches!(node.kind, Kind::FunctionDecl | Kind::FunctionTemplateDecl | Kind::LinkageSpecDecl);
            let words = String::from_utf8_lossy(part);
            if is_function || MENTIONS.iter().any(|word| words.contains(word)) {
                // Lines keep their numbers.
                part.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            }
        }
        _ => {}
    }
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
