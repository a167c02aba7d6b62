//! Reads Clang's JSON dump.

use std::sync::Arc;

use serde::de::{Error, MapAccess};
use serde::{Deserialize, Deserializer};

use super::ast::{Ast, Base, Data, DefinitionData, Kind, Node, NodeId, Reference, TypeName};
use super::json::{self, Known, MAX_DEPTH, Member, Object};
use super::place::{Location, Range};
use crate::source::Span;

/// How much stack reading takes at the greatest depth, with room to spare.
pub const STACK_BYTES: usize = 512 << 20;

/// Why a dump could not be read.
#[derive(Debug, thiserror::Error)]
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
    let mut known = Known::default();
    let root = json::object::<Unplaced>(json, &mut known)
        .map_err(|error| if known.is_too_deep() { ReadError::TooDeep } else { error.into() })?;
    Ok(Ast { declarations: root.inner, sources: known.files.sources })
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

/// A node, and where it is as Clang tells it.
#[derive(Default)]
struct Unplaced {
    node: Node,
    loc: Location,
    range: Range,
}

impl Object for Unplaced {
    type Made = Node;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "id" => self.node.id = member.plain()?,
            "kind" => self.node.kind = member.plain()?,
            "loc" => self.loc = member.object::<Location>()?,
            "range" => self.range = member.object::<Range>()?,
            "inner" => self.node.inner = member.list::<Unplaced>()?,
            _ => attribute(&mut self.node.data, key, member)?,
        }
        Ok(())
    }

    fn made<E: Error>(self, known: &mut Known) -> Result<Node, E> {
        let Unplaced { mut node, loc, range } = self;
        let (span, written) = range.spans(&mut known.files);
        node.span = span.unwrap_or(Span::NONE);
        node.spelling = written.filter(|written| *written != node.span).map(Box::new);
        if node.kind == Kind::VarDecl
            && let Some((at, written)) = loc.place.as_ref().zip(loc.written())
            && at.begins_with(written)
        {
            node.data.rare_mut().name_span = Some(Box::new(known.files.span(at, at)));
        }
        if node.span.is_none()
            && let Some(at) = &loc.place
        {
            node.span = known.files.span(at, at);
        }
        Ok(node)
    }
}

/// Takes what a node holds besides children.
fn attribute<'de, M: MapAccess<'de>>(data: &mut Data, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
    match key {
        "type" => data.ty = Some(member.object::<Spellings>()?),
        "valueCategory" => data.value_category = Some(member.plain()?),
        "castKind" => data.cast_kind = Some(member.text()?),
        "referencedDecl" => data.referenced_decl = Some(member.object::<Reference>()?.into()),
        "opcode" => data.opcode = Some(member.text()?),
        "name" => data.name = Some(member.text()?),
        "value" => data.value = Some(member.value()?),
        "isPostfix" => data.is_postfix = member.plain()?,
        "referencedMemberDecl" => data.referenced_member_decl = Some(member.plain()?),
        "isArrow" => data.is_arrow = member.plain()?,
        "isImplicit" => data.is_implicit = member.plain()?,
        "implicit" => data.implicit = member.plain()?,
        "mangledName" => data.rare_mut().mangled_name = Some(device_linker_name(member.text()?)),
        "storageClass" => data.rare_mut().storage_class = Some(member.text()?),
        "init" => data.rare_mut().init = Some(member.text()?),
        "constexpr" => data.rare_mut().constexpr = member.plain()?,
        "isConstexpr" => data.rare_mut().is_constexpr = member.plain()?,
        "hasElse" => data.rare_mut().has_else = member.plain()?,
        "hasInit" => data.rare_mut().has_init = member.plain()?,
        "hasVar" => data.rare_mut().has_var = member.plain()?,
        "explicitlyDefaulted" => data.rare_mut().explicitly_defaulted = Some(member.text()?),
        "ctorType" => data.rare_mut().ctor_type = Some(member.object::<Spellings>()?),
        "zeroing" => data.rare_mut().zeroing = member.plain()?,
        "computeLHSType" => data.rare_mut().compute_lhs_type = Some(member.object::<Spellings>()?),
        "argType" => data.rare_mut().arg_type = Some(member.object::<Spellings>()?),
        "fixedUnderlyingType" => data.rare_mut().fixed_underlying_type = Some(member.object::<Spellings>()?),
        "scopedEnumTag" => data.rare_mut().scoped_enum_tag = Some(member.text()?),
        "tagUsed" => data.rare_mut().tag_used = Some(member.text()?),
        "completeDefinition" => data.rare_mut().complete_definition = member.plain()?,
        "definitionData" => data.rare_mut().definition_data = member.object::<DefinitionData>()?,
        "bases" => data.rare_mut().bases = member.list::<Bare>()?,
        "virtual" => data.rare_mut().is_virtual = member.plain()?,
        "pure" => data.rare_mut().is_pure = member.plain()?,
        "isBitfield" => data.rare_mut().is_bitfield = member.plain()?,
        "previousDecl" => data.rare_mut().previous_decl = Some(member.plain()?),
        "parentDeclContextId" => data.rare_mut().parent_decl_context_id = Some(member.plain()?),
        "anyInit" => data.rare_mut().any_init = Some(member.object::<Reference>()?.into()),
        "baseInit" => data.rare_mut().base_init = Some(member.object::<Spellings>()?),
        "decl" => data.rare_mut().decl = Some(member.object::<Reference>()?.into()),
        "isArray" => data.rare_mut().is_array = member.plain()?,
        "isPlacement" => data.rare_mut().is_placement = member.plain()?,
        "aliasedNamespace" => data.rare_mut().aliased_namespace = Some(member.object::<Reference>()?.into()),
        "nominatedNamespace" => data.rare_mut().nominated_namespace = Some(member.object::<Reference>()?.into()),
        "originalNamespace" => data.rare_mut().original_namespace = Some(member.object::<Reference>()?.into()),
        "isInline" => data.rare_mut().is_inline = member.plain()?,
        "array_filler" => data.rare_mut().array_filler = member.list::<Unplaced>()?,
        _ => member.skip()?,
    }
    Ok(())
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NodeId, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").ok_or_else(|| D::Error::custom("an id begins with `0x`"))?;
        u64::from_str_radix(digits, 16).map(NodeId).map_err(D::Error::custom)
    }
}

impl Object for Reference {
    type Made = Reference;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "id" => self.id = member.plain()?,
            "kind" => self.kind = member.plain()?,
            "name" => self.name = Some(member.text()?),
            "type" => self.ty = Some(member.object::<Spellings>()?),
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(self, _: &mut Known) -> Result<Reference, E> {
        Ok(self)
    }
}

/// A type as the program spells it, and without typedefs where that is another spelling.
#[derive(Default)]
struct Spellings {
    written: Option<Arc<str>>,
    meant: Option<Arc<str>>,
}

impl Object for Spellings {
    type Made = TypeName;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "qualType" => self.written = Some(member.text()?),
            "desugaredQualType" => self.meant = Some(member.text()?),
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(self, _: &mut Known) -> Result<TypeName, E> {
        let written = self.written.ok_or_else(|| E::missing_field("qualType"))?;
        Ok(match self.meant {
            Some(meant) => TypeName(meant, Some(written).filter(|written| written.contains('<'))),
            None => TypeName(written, None),
        })
    }
}

impl Object for DefinitionData {
    type Made = DefinitionData;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "isAggregate" => self.is_aggregate = member.plain()?,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(self, _: &mut Known) -> Result<DefinitionData, E> {
        Ok(self)
    }
}

/// A base class of which nothing is known yet.
#[derive(Default)]
struct Bare(Option<TypeName>);

impl Object for Bare {
    type Made = Base;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "type" => self.0 = Some(member.object::<Spellings>()?),
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(self, _: &mut Known) -> Result<Base, E> {
        self.0.map(|ty| Base { ty }).ok_or_else(|| E::missing_field("type"))
    }
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
