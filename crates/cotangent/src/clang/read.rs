//! Reads Clang's JSON dump.

use std::collections::HashMap;
use std::sync::Arc;

use clang_ast::BareSourceLocation;
use serde::Deserialize;
use thiserror::Error;

use super::ast::{Ast, Data, Kind, Node};
use crate::source::{FileId, Sources, Span};

/// How deeply a dump may be nested, in braces and brackets.
///
/// Two of them make one level of the tree. Clang's own default allows 256 nested parentheses; sums and `else if`
/// chains nest further.
const MAX_DEPTH: usize = 3000;

/// How much stack reading takes at that depth, with room to spare.
pub const STACK_BYTES: usize = 512 << 20;

/// Why a dump could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is not what Clang prints.
    #[error("Clang's dump is not the JSON that clang 19 prints: {0}")]
    Json(#[from] serde_json::Error),
    /// It is nested too deeply.
    #[error("the code is nested more than {} levels deep", MAX_DEPTH / 2)]
    TooDeep,
    /// There was nothing to read with.
    #[error("no thread could be started to read Clang's dump: {0}")]
    Thread(#[from] std::io::Error),
}

/// Reads a dump, whole or sieved.
///
/// Trees are read, walked and dropped by recursion. Callers that may meet deep ones run on a stack of `STACK_BYTES`.
pub fn read(json: &[u8]) -> Result<Ast, ReadError> {
    if depth(json) > MAX_DEPTH {
        return Err(ReadError::TooDeep);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.disable_recursion_limit();
    let root: clang_ast::Node<Data> = clang_ast::Node::deserialize(&mut deserializer)?;
    let mut files = Files::default();
    let declarations = root.inner.into_iter().map(|node| convert(node, &mut files)).collect();
    Ok(Ast { declarations, sources: files.sources })
}

/// The greatest number of open braces and brackets.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut in_string = false;
    let mut escaped = false;
    for &byte in json {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[derive(Default)]
struct Files {
    sources: Sources,
    known: HashMap<Arc<str>, FileId>,
}

impl Files {
    fn id(&mut self, name: &Arc<str>) -> FileId {
        if let Some(id) = self.known.get(name) {
            return *id;
        }
        let id = self.sources.add(name);
        self.known.insert(Arc::clone(name), id);
        id
    }

    fn span(&mut self, begin: &BareSourceLocation, end: &BareSourceLocation) -> Span {
        let file = self.id(&begin.file);
        let start = u32::try_from(begin.offset).unwrap_or(u32::MAX);
        let stop = if end.file == begin.file { end.offset + end.tok_len } else { begin.offset + begin.tok_len };
        Span { file, start, end: u32::try_from(stop).unwrap_or(u32::MAX).max(start) }
    }
}

/// The linker name of a kernel on the device. On the host it is that of a stub: `_Z19__device_stub__sizei` for `_Z4sizei`.
fn device_linker_name(name: Arc<str>) -> Arc<str> {
    const STUB: &str = "__device_stub__";
    if let Some(plain) = name.strip_prefix(STUB) {
        // A kernel with C linkage.
        return plain.into();
    }
    // Namespaces come first, each after its length, and may end in a digit.
    let mut at = 0;
    while let Some(digit) = name[at..].find(|next: char| next.is_ascii_digit()) {
        let start = at + digit;
        let end = name[start..].find(|next: char| !next.is_ascii_digit()).map_or(name.len(), |count| start + count);
        let Ok(length) = name[start..end].parse::<usize>() else { break };
        if let (Some(after), Some(own)) = (name[end..].strip_prefix(STUB), length.checked_sub(STUB.len())) {
            return format!("{}{own}{after}", &name[..start]).into();
        }
        at = end + length;
        if !name.is_char_boundary(at) {
            break;
        }
    }
    name
}

fn convert(node: clang_ast::Node<Data>, files: &mut Files) -> Node {
    let mut data = Box::new(node.kind);
    let (mut span, mut spelling) = (Span::NONE, None);
    if let Some(range) = data.range.take() {
        if let (Some(begin), Some(end)) = (&range.begin.expansion_loc, &range.end.expansion_loc) {
            span = files.span(begin, end);
        }
        if let (Some(begin), Some(end)) = (&range.begin.spelling_loc, &range.end.spelling_loc) {
            let spelled = files.span(begin, end);
            spelling = (spelled != span).then(|| Box::new(spelled));
        }
    }
    let loc = data.loc.take();
    if data.kind == Kind::VarDecl
        && let Some((at, written)) =
            loc.as_deref().and_then(|loc| loc.expansion_loc.as_ref().zip(loc.spelling_loc.as_ref()))
        && (at.offset, &at.file) == (written.offset, &written.file)
    {
        data.name_span = Some(Box::new(files.span(at, at)));
    }
    if span.is_none()
        && let Some(at) = loc.and_then(|loc| loc.expansion_loc)
    {
        span = files.span(&at, &at);
    }
    data.mangled_name = data.mangled_name.take().map(device_linker_name);
    let filler = std::mem::take(&mut data.raw_filler);
    data.array_filler = filler.into_iter().map(|node| convert(node, files)).collect();
    let inner = node.inner.into_iter().map(|node| convert(node, files)).collect();
    Node { id: node.id, kind: data.kind, span, spelling, data, inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_one_name_in_both_passes() {
        for (host, device) in [
            ("_Z20__device_stub__saxpyif", "_Z5saxpyif"),
            ("_ZN3geo20__device_stub__scaleILi16EEEvPf", "_ZN3geo5scaleILi16EEEvPf"),
            ("__device_stub__plain", "plain"),
            ("_ZN12_GLOBAL__N_116__device_stub__kEPf", "_ZN12_GLOBAL__N_11kEPf"),
            ("_ZN2v2L20__device_stub__saxpyEif", "_ZN2v2L5saxpyEif"),
            ("_ZL16__device_stub__kPf", "_ZL1kPf"),
            ("_Z3foov", "_Z3foov"),
        ] {
            assert_eq!(&*device_linker_name(host.into()), device);
        }
    }
}
