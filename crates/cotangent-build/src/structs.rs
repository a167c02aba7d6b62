//! Structs of the program as structs of Rust.

use cotangent::emit::Struct;

use crate::names;
use crate::types::Ty;

/// A struct that Rust has too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Defined {
    /// As CUDA has it.
    pub(crate) of: Struct,
    /// In Rust.
    pub(crate) name: String,
    /// Names and types of its fields.
    fields: Vec<(String, String)>,
    /// An alignment that its fields do not give it.
    align: Option<u64>,
}

/// Those of the structs that Rust lays out as CUDA does, if it is told their alignment. Others have fields for which there is no type, or
/// vectors at addresses that Rust's arrays do not have.
pub(crate) fn defined(structs: &[Struct]) -> Vec<Defined> {
    let mut all: Vec<Defined> = Vec::new();
    for of in structs {
        all.extend(define(of, &all));
    }
    all
}

fn define(of: &Struct, known: &[Defined]) -> Option<Defined> {
    let (mut end, mut widest, mut fields) = (0u64, 1u64, Vec::new());
    for field in &of.fields {
        let ty = Ty::of(&field.ty, known)?;
        let (bytes, alignment) = ty.layout();
        let offset = end.next_multiple_of(alignment);
        if offset != field.offset {
            return None;
        }
        end = offset + bytes * field.lengths.iter().product::<u64>();
        widest = widest.max(alignment);
        let nested = field.lengths.iter().rev().fold(ty.rust(), |inner, length| format!("[{inner}; {length}]"));
        fields.push((names::parameter(&field.name, &[]), nested));
    }
    let align = (of.alignment > widest).then_some(of.alignment);
    let fits = !fields.is_empty() && end.next_multiple_of(of.alignment) == of.bytes;
    fits.then(|| Defined { of: of.clone(), name: of.name.replace("::", "_"), fields, align })
}

impl Defined {
    /// Its definition.
    pub(crate) fn text(&self) -> String {
        let Defined { of, name, fields, align } = self;
        let align = align.map(|align| format!(", align({align})")).unwrap_or_default();
        let fields: String = fields.iter().map(|(name, ty)| format!("    pub {name}: {ty},\n")).collect();
        let bytes = of.bytes;
        format!(
            "/// `{}` of the kernels.\n#[repr(C{align})]\n#[derive(Clone, Copy, Debug, PartialEq)]\n\
             #[allow(dead_code, non_camel_case_types, non_snake_case, unreachable_pub, reason = \"generated\")]\n\
             pub struct {name} {{\n{fields}}}\n\n#[allow(unused_qualifications, reason = \"generated\")]\nconst _: () = assert!(std::mem::size_of::<{name}>() == {bytes});\n\n",
            of.name
        )
    }
}

#[cfg(test)]
mod tests {
    use cotangent::emit::StructField;

    use super::*;

    fn of(name: &str, [bytes, alignment]: [u64; 2], fields: &[(&str, &str, &[u64], u64)]) -> Struct {
        let field = |(name, ty, lengths, offset): &(&str, &str, &[u64], u64)| StructField {
            name: (*name).to_owned(),
            ty: (*ty).to_owned(),
            lengths: lengths.to_vec(),
            offset: *offset,
        };
        Struct { name: name.to_owned(), bytes, alignment, fields: fields.iter().map(field).collect() }
    }

    #[test]
    fn structs_are_laid_out_alike_or_not_at_all() {
        let inner = of("geo::Point", [16, 16], &[("at", "float3", &[], 0)]);
        let outer = of("Cell", [64, 16], &[("type", "int", &[], 0), ("corner", "geo::Point", &[3], 16)]);
        let texts: Vec<String> = defined(&[inner, outer]).iter().map(Defined::text).collect();
        assert!(texts[0].contains("#[repr(C, align(16))]") && texts[0].contains("pub at: [f32; 3],"), "{}", texts[0]);
        assert!(texts[1].contains("#[repr(C)]") && texts[1].contains("pub corner: [geo_Point; 3],"), "{}", texts[1]);
        assert!(texts[1].contains("pub type_: i32,") && texts[1].contains("== 64"), "{}", texts[1]);
        // Rust would put the vector at 4.
        assert!(defined(&[of("Apart", [32, 16], &[("n", "int", &[], 0), ("v", "float4", &[], 16)])]).is_empty());
        assert!(defined(&[of("List", [8, 8], &[("next", "List*", &[], 0)])]).is_empty());
    }
}
