//! What CUDA's types are in Rust.

use crate::structs::Defined;

/// A type of elements, or of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// As CUDA spells it.
    cuda: &'static str,
    /// As Rust does.
    rust: &'static str,
    bytes: u64,
}

/// Half precision is the crate `half`'s, whose types cudarc takes with its feature `f16`.
const SCALARS: [Scalar; 20] = [
    Scalar { cuda: "float", rust: "f32", bytes: 4 },
    Scalar { cuda: "double", rust: "f64", bytes: 8 },
    Scalar { cuda: "__half", rust: "::half::f16", bytes: 2 },
    Scalar { cuda: "__nv_bfloat16", rust: "::half::bf16", bytes: 2 },
    Scalar { cuda: "int", rust: "i32", bytes: 4 },
    Scalar { cuda: "unsigned int", rust: "u32", bytes: 4 },
    Scalar { cuda: "unsigned", rust: "u32", bytes: 4 },
    Scalar { cuda: "long", rust: "i64", bytes: 8 },
    Scalar { cuda: "unsigned long", rust: "u64", bytes: 8 },
    Scalar { cuda: "long long", rust: "i64", bytes: 8 },
    Scalar { cuda: "unsigned long long", rust: "u64", bytes: 8 },
    Scalar { cuda: "size_t", rust: "usize", bytes: 8 },
    Scalar { cuda: "short", rust: "i16", bytes: 2 },
    Scalar { cuda: "unsigned short", rust: "u16", bytes: 2 },
    Scalar { cuda: "char", rust: "i8", bytes: 1 },
    Scalar { cuda: "signed char", rust: "i8", bytes: 1 },
    Scalar { cuda: "unsigned char", rust: "u8", bytes: 1 },
    Scalar { cuda: "uchar", rust: "u8", bytes: 1 },
    Scalar { cuda: "uint", rust: "u32", bytes: 4 },
    Scalar { cuda: "bool", rust: "bool", bytes: 1 },
];

/// A type of a parameter, or of what it points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ty {
    Number(Scalar),
    /// One of CUDA's vectors, which is an array of so many numbers.
    Vector(Scalar, u64),
    /// A struct of the program, by its name in Rust, with its size and alignment.
    Struct(String, u64, u64),
    /// An array of another type, to which a pointer leads that steps over whole rows.
    Array(Box<Ty>, u64),
}

impl Ty {
    /// A number, one of CUDA's vectors, or one of these structs, as CUDA spells it.
    pub(crate) fn of(spelled: &str, structs: &[Defined]) -> Option<Ty> {
        let number = |spelled: &str| SCALARS.into_iter().find(|scalar| scalar.cuda == spelled);
        let vector = || {
            let (scalar, width) = spelled.split_at_checked(spelled.len().checked_sub(1)?)?;
            let width = width.parse().ok().filter(|width| (2..=4).contains(width))?;
            Some(Ty::Vector(number(scalar).filter(|scalar| scalar.rust != "bool")?, width))
        };
        let of_program = || {
            let Defined { of, name, .. } = structs.iter().find(|known| known.of.name == spelled)?;
            Some(Ty::Struct(name.clone(), of.bytes, of.alignment))
        };
        number(spelled).map(Ty::Number).or_else(vector).or_else(of_program)
    }

    /// What a pointer points to, and whether it may be stored to; none if it is no pointer to what Rust knows.
    pub(crate) fn pointed(spelled: &str, structs: &[Defined]) -> Option<(Ty, bool)> {
        // A pointer to rows has its star in parentheses: `const double (*)[64][32]`.
        let (element, rest) = spelled.split_once("(*").or_else(|| spelled.split_once('*'))?;
        let rest = rest.trim().trim_start_matches("__restrict__").trim_start();
        let lengths = if rest.is_empty() { "" } else { rest.strip_prefix(')')? };
        let lengths = lengths.split_terminator(']').map(|length| length.strip_prefix('[')?.parse().ok());
        let lengths: Vec<u64> = lengths.collect::<Option<_>>()?;
        let constant = element.trim().strip_prefix("const ");
        let element = Ty::of(constant.unwrap_or(element).trim(), structs)?;
        let rows = lengths.into_iter().rev().fold(element, |inner, length| Ty::Array(Box::new(inner), length));
        Some((rows, constant.is_none()))
    }

    /// As Rust spells it where structs stand.
    pub(crate) fn rust(&self) -> String {
        match self {
            Ty::Number(scalar) => scalar.rust.to_owned(),
            Ty::Vector(scalar, width) => format!("[{}; {width}]", scalar.rust),
            Ty::Struct(name, ..) => name.clone(),
            Ty::Array(inner, length) => format!("[{}; {length}]", inner.rust()),
        }
    }

    /// The same in a module there.
    pub(crate) fn within_module(&self) -> String {
        match self {
            Ty::Number(_) | Ty::Vector(..) => self.rust(),
            Ty::Struct(name, ..) => format!("super::{name}"),
            Ty::Array(inner, length) => format!("[{}; {length}]", inner.within_module()),
        }
    }

    /// Size and alignment in Rust.
    pub(crate) fn layout(&self) -> (u64, u64) {
        match self {
            Ty::Number(scalar) => (scalar.bytes, scalar.bytes),
            Ty::Vector(scalar, width) => (scalar.bytes * width, scalar.bytes),
            Ty::Struct(_, bytes, alignment) => (*bytes, *alignment),
            Ty::Array(inner, length) => {
                let (bytes, alignment) = inner.layout();
                (bytes * length, alignment)
            }
        }
    }

    /// What addresses of its elements are multiples of on the device, if Rust asks for less.
    pub(crate) fn stricter_alignment(&self) -> Option<u64> {
        match self {
            Ty::Vector(scalar, width @ (2 | 4)) => Some((scalar.bytes * width).min(16)),
            Ty::Array(inner, _) => inner.stricter_alignment(),
            Ty::Number(_) | Ty::Vector(..) | Ty::Struct(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_vectors_and_pointers_to_them_have_types() {
        assert_eq!(Ty::of("unsigned int", &[]).unwrap().rust(), "u32");
        assert_eq!(Ty::of("float3", &[]).unwrap().rust(), "[f32; 3]");
        assert_eq!(Ty::of("float4", &[]).unwrap().stricter_alignment(), Some(16));
        assert_eq!(Ty::of("float3", &[]).unwrap().stricter_alignment(), None);
        let pointed = |spelled: &str| Ty::pointed(spelled, &[]).map(|(ty, is_mutable)| (ty.rust(), is_mutable));
        assert_eq!(pointed("const double* __restrict__"), Some(("f64".to_owned(), false)));
        assert_eq!(pointed("unsigned char*"), Some(("u8".to_owned(), true)));
        assert_eq!(pointed("const double (*)[64][32]"), Some(("[[f64; 32]; 64]".to_owned(), false)));
        assert_eq!(pointed("float4 (* __restrict__)[3]"), Some(("[[f32; 4]; 3]".to_owned(), true)));
    }

    #[test]
    fn what_rust_has_no_type_for_has_none() {
        assert!(["Cell", "float5", "bool2", "", "4"].iter().all(|spelled| Ty::of(spelled, &[]).is_none()));
        let pointers = ["Cell*", "float**", "float", "float* const*", "float (*)[n]", "float (*)(int)"];
        assert!(pointers.iter().all(|spelled| Ty::pointed(spelled, &[]).is_none()));
    }
}
