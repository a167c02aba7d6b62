//! Where the numbers of a type lie in memory, natively and when `float` and half precisions are widened to `double`.

use cotangent::ir::{FloatKind, IntKind, Module, Type};

/// Whether floats have their own precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Native,
    /// `float`, `__half` and `__nv_bfloat16` are `double`.
    Widened,
}

/// One number or pointer of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) offset: usize,
    pub(crate) scalar: Scalar,
    /// How a user would write it after the variable: `.center.x`, `[2]`.
    pub(crate) path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scalar {
    Float(FloatKind),
    Int(IntKind),
    Bool,
    /// To this type.
    Pointer(Type),
    /// Eight bytes that are handed on.
    Opaque,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) size: usize,
    align: usize,
    pub(crate) leaves: Vec<Leaf>,
}

/// The layout of a type, as C++ lays it out.
pub(crate) fn layout(module: &Module, ty: &Type, precision: Precision) -> Layout {
    let scalar = |size: usize, scalar: Scalar| Layout {
        size,
        align: size,
        leaves: vec![Leaf { offset: 0, scalar, path: String::new() }],
    };
    match ty {
        Type::Void => Layout { size: 1, align: 1, leaves: Vec::new() },
        Type::Bool => scalar(1, Scalar::Bool),
        Type::Int(kind) => scalar(kind.bits() as usize / 8, Scalar::Int(*kind)),
        Type::Float(kind) => match (kind, precision) {
            (FloatKind::Half | FloatKind::BFloat, Precision::Native) => scalar(2, Scalar::Float(*kind)),
            (FloatKind::Float, Precision::Native) => scalar(4, Scalar::Float(FloatKind::Float)),
            (FloatKind::Half | FloatKind::BFloat | FloatKind::Float, Precision::Widened) | (FloatKind::Double, _) => {
                scalar(8, Scalar::Float(FloatKind::Double))
            }
        },
        Type::Pointer(pointer) => scalar(8, Scalar::Pointer(pointer.pointee.clone())),
        Type::Opaque(_) => scalar(8, Scalar::Opaque),
        Type::Array(element, count) => {
            let element = layout(module, element, precision);
            let mut whole = Layout { size: element.size * *count as usize, align: element.align, leaves: Vec::new() };
            for index in 0..*count as usize {
                whole.add(&element, index * element.size, &format!("[{index}]"));
            }
            whole
        }
        Type::Record(id) => {
            let record = &module.records[*id];
            let mut whole = Layout { size: 0, align: 1, leaves: Vec::new() };
            for field in &record.fields {
                let part = layout(module, &field.ty, precision);
                let offset = whole.size.next_multiple_of(part.align.max(1));
                whole.add(&part, offset, &format!(".{}", field.name));
                whole.align = whole.align.max(part.align);
                whole.size = offset + part.size;
            }
            // Widened, `float2` is `double2`, which is aligned as `float4` is.
            let is_pair = record.is_builtin && &*record.name == "float2" && precision == Precision::Widened;
            let align = if is_pair { Some(16) } else { record.align };
            whole.align = whole.align.max(align.unwrap_or(1) as usize);
            whole.size = whole.size.max(1).next_multiple_of(whole.align);
            whole
        }
    }
}

impl Layout {
    fn add(&mut self, part: &Layout, at: usize, path: &str) {
        self.leaves.extend(part.leaves.iter().map(|leaf| Leaf {
            offset: at + leaf.offset,
            scalar: leaf.scalar.clone(),
            path: format!("{path}{}", leaf.path),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent::ir::text;

    #[test]
    fn fields_lie_where_cpp_puts_them() {
        let module = text::parse(
            "builtin record float2 align 8 { x: float, y: float }
             record R { c: char, v: float2, p: const float*, n: short, a: float[3] }
             device f(r: R) { }",
        )
        .expect("the text is well-formed");
        let ty = &module.functions.iter().next().expect("a function").locals.iter().next().expect("a local").ty;
        let offsets = |precision| {
            let layout = layout(&module, ty, precision);
            (layout.size, layout.leaves.iter().map(|leaf| leaf.offset).collect::<Vec<_>>())
        };
        assert_eq!(offsets(Precision::Native), (40, vec![0, 8, 12, 16, 24, 28, 32, 36]));
        assert_eq!(offsets(Precision::Widened), (80, vec![0, 16, 24, 32, 40, 48, 56, 64]));
        assert_eq!(layout(&module, ty, Precision::Native).leaves[7].path, ".a[2]");
    }
}
