//! The kernels of an operator for one type of data, with their gradients.

use cotangent::emit::Metadata;

use crate::arguments::is_of_host;

/// The parameter of a gradient that takes values from one sweep to the other.
pub(crate) const RECORD: &str = "_record";

/// A type of data that the operator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar {
    /// As CUDA spells it.
    pub cuda: &'static str,
    /// As names and users spell it.
    pub name: &'static str,
    /// As ATen spells it, after `at::k`.
    pub aten: &'static str,
}

/// All of them.
pub const SCALARS: [Scalar; 4] = [
    Scalar { cuda: "float", name: "float", aten: "Float" },
    Scalar { cuda: "double", name: "double", aten: "Double" },
    Scalar { cuda: "__half", name: "half", aten: "Half" },
    Scalar { cuda: "__nv_bfloat16", name: "bfloat16", aten: "BFloat16" },
];

/// The kernels for one type of data.
#[derive(Debug, Clone)]
pub struct Version {
    /// The type.
    pub scalar: Scalar,
    /// The kernel itself, with all that it needs.
    pub forward: String,
    /// Its gradient, in the framework form.
    pub backward: Level,
    /// The gradient of that, if there is one.
    pub twice: Option<Level>,
}

/// A gradient.
#[derive(Debug, Clone)]
pub struct Level {
    /// Its text, which compiles by itself.
    pub text: String,
    /// What it has.
    pub metadata: Metadata,
}

/// The names in the gradient of a gradient with respect to which it is made, for the second [`Level`].
pub fn names_of_second(first: &Metadata) -> Vec<String> {
    // In a function of the host values travel through results too, as far as the analysis sees.
    let is_input = |before: &str| matches!(before, "zero" | "gradient") || is_of_host(first);
    let inputs = first.adjoints.iter().filter(|adjoint| is_input(adjoint.before)).map(|adjoint| adjoint.of.clone());
    let adjoints = first.adjoints.iter().map(|adjoint| adjoint.name.clone());
    inputs.chain(adjoints).chain(first.record.is_some().then(|| RECORD.to_owned())).collect()
}
