//! A file without the large library that it includes: the user's own text, in which the library's `#include`s and what
//! the host does with it are blanks. What is left can be compiled for the CPU, with `float` as another type too.

use cotangent::clang::{Kind, Node};
use cotangent::source::FileId;

use crate::leading::is_include_of_large;
use crate::parse::as_argument;
use crate::reading::{Failure, Input, check_readable, read_device, with_deep_stack};
use crate::source_text::source_text;
use crate::tools::Tools;

/// How declarations that need the library mention it.
const MENTIONS: &[&str] = &["torch", "at::", "c10", "namespace at"];

/// Our own header with what kernels use of PyTorch, in place of the first of the library's.
const TENSORS: &str = "#include <cotangent/tensors.h>";

/// The text of a file without a large library; nothing if it includes none itself.
pub fn device_part(tools: &Tools, input: &Input<'_>) -> Result<Option<String>, Failure> {
    check_readable(input.file)?;
    let Ok(source) = source_text(input.file) else { return Ok(None) };
    if !source.text.lines().any(is_include_of_large) {
        return Ok(None);
    }
    with_deep_stack(|| {
        let ast = read_device(tools, input)?;
        let name = as_argument(input.file);
        let main = ast.sources.files.entries().find(|(_, file)| *file.name == *name).map(|(id, _)| id);
        let mut text = source.text.into_bytes();
        if let Some(main) = main {
            ast.declarations.iter().for_each(|node| blank_host(node, main, &mut text));
        }
        let text = String::from_utf8(text).unwrap_or_default();
        let mut instead = if text.contains("Accessor") { TENSORS } else { "" };
        let lines =
            text.lines().map(|line| if is_include_of_large(line) { std::mem::take(&mut instead) } else { line });
        Ok(Some(lines.collect::<Vec<_>>().join("\n") + "\n"))
    })
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
