//! What CUDA's types are in Rust.

/// A type of elements, or of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// As CUDA spells it.
    cuda: &'static str,
    /// As Rust does.
    rust: &'static str,
    bytes: usize,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ty {
    scalar: Scalar,
    /// How many of them a vector has; 1 for a number.
    width: usize,
}

impl Ty {
    /// A number or one of CUDA's vectors, as CUDA spells it.
    pub(crate) fn of(spelled: &str) -> Option<Ty> {
        let number = |spelled: &str| SCALARS.into_iter().find(|scalar| scalar.cuda == spelled);
        let vector = || {
            let (scalar, width) = spelled.split_at_checked(spelled.len().checked_sub(1)?)?;
            let width = width.parse().ok().filter(|width| (2..=4).contains(width))?;
            Some(Ty { scalar: number(scalar).filter(|scalar| scalar.rust != "bool")?, width })
        };
        number(spelled).map(|scalar| Ty { scalar, width: 1 }).or_else(vector)
    }

    /// What a pointer points to, and whether it may be stored to; none if it is no pointer to what Rust knows.
    pub(crate) fn pointed(spelled: &str) -> Option<(Ty, bool)> {
        let (element, rest) = spelled.split_once('*')?;
        if !["", "__restrict__"].contains(&rest.trim()) {
            return None;
        }
        let constant = element.trim().strip_prefix("const ");
        Some((Ty::of(constant.unwrap_or(element).trim())?, constant.is_none()))
    }

    /// As Rust spells it.
    pub(crate) fn rust(self) -> String {
        match self.width {
            1 => self.scalar.rust.to_owned(),
            width => format!("[{}; {width}]", self.scalar.rust),
        }
    }

    /// What addresses of its elements are multiples of on the device, if Rust asks for less.
    pub(crate) fn stricter_alignment(self) -> Option<usize> {
        let Ty { scalar: Scalar { bytes, .. }, width } = self;
        (width == 2 || width == 4).then(|| (bytes * width).min(16))
    }

    /// Whether it is a single number.
    pub(crate) fn is_number(self) -> bool {
        self.width == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_vectors_and_pointers_to_them_have_types() {
        assert_eq!(Ty::of("unsigned int").unwrap().rust(), "u32");
        assert_eq!(Ty::of("float3").unwrap().rust(), "[f32; 3]");
        assert_eq!(Ty::of("float4").unwrap().stricter_alignment(), Some(16));
        assert_eq!(Ty::of("float3").unwrap().stricter_alignment(), None);
        let pointed = |spelled: &str| Ty::pointed(spelled).map(|(ty, is_mutable)| (ty.rust(), is_mutable));
        assert_eq!(pointed("const double* __restrict__"), Some(("f64".to_owned(), false)));
        assert_eq!(pointed("unsigned char*"), Some(("u8".to_owned(), true)));
    }

    #[test]
    fn what_rust_has_no_type_for_has_none() {
        assert!(["Cell", "float5", "bool2", "", "4"].iter().all(|spelled| Ty::of(spelled).is_none()));
        assert!(["Cell*", "float**", "float", "float* const*"].iter().all(|spelled| Ty::pointed(spelled).is_none()));
    }
}
