//! What a call calls.

use super::body::Body;
use super::context::{Lowered, Pass, broken, problem_with_help};
use super::intrinsic::C_FUNCTIONS;
use super::stmt::{is_constant, refuse_static};
use super::types::is_builtin_record;
use super::vector::{self, Member};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::Name;
use crate::rules::{
    HalfCall, Intrinsic, OPAQUE_CALLS, PITCHED_MEMORY, PREPARATIONS, Unsupported, half_call, intrinsic, is_math,
    is_of_runtime, is_runtime, unsupported,
};

/// What a call calls.
#[derive(Clone)]
pub(super) enum Callee<'a> {
    /// A pure function of the table.
    Math(Name),
    /// `make_float3` and its like.
    MakeVector,
    /// `__ldg` and its like: a load through the first argument.
    LoadThrough,
    /// `__stcs` and its like: a store of the second argument through the first.
    StoreThrough,
    /// `std::max`, which takes references.
    StandardMax,
    /// `std::min`.
    StandardMin,
    /// `std::move` and `std::forward`: the argument itself.
    Identity,
    /// `std::swap`.
    Swap,
    /// `sincosf(x, s, c)` and its like: the names of the two functions that it computes.
    SineAndCosine(&'static str, &'static str),
    /// `modff(x, whole)` and `modf`: the name of the function that gives what is stored.
    WholeAndRest(&'static str),
    /// `frexpf(x, exponent)` and `frexp`: the names of the functions that give the exponent less one, and divide by it.
    MantissaAndExponent(&'static str, &'static str),
    /// What prepares the device for a kernel: it is left out.
    Preparation,
    /// `__builtin_ctz`: how many bits of a number that is not zero are so before the first that is not.
    TrailingZeros,
    /// `memcpy` in device code.
    CopyBytes,
    /// A function on half precision.
    Half(HalfCall),
    /// The conversion of an object of half precision that its class declares.
    FromHalf(&'a Node),
    /// A constant: `__builtin_inff()`, `std::numeric_limits<float>::max()`.
    Constant(f64),
    /// How large dynamic shared memory is.
    DynamicSharedBytes,
    /// A member of a `std::vector`, and the vector.
    Vector(Member, &'a Node),
    /// A barrier, atomic or exchange.
    Intrinsic(Intrinsic),
    /// A function without a body that changes nothing.
    Opaque(Name),
    /// A function of the CUDA runtime.
    Runtime(Name),
    /// The assignment operator that Clang wrote for a record.
    CopyAssignment,
    /// A function with a body; the object of a member.
    Function { definition: &'a Node, object: Option<Object<'a>> },
}

/// The object of a member call.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    /// The expression.
    pub(super) node: &'a Node,
    /// Whether it is a pointer to the object.
    pub(super) is_arrow: bool,
}

/// Loads and stores with a hint for the cache.
const LOADS: &[&str] = &["__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"];
const STORES: &[&str] = &["__stwb", "__stcg", "__stcs", "__stwt"];

/// How the names of functions of textures and surfaces begin.
const TEXTURES: &[&str] = &["tex1D", "tex2D", "tex3D", "texCubemap", "surf1D", "surf2D", "surf3D", "surfCubemap"];

/// Functions with two results, and the pure functions that give them.
const SINE_AND_COSINE: &[(&str, &str, &str)] = &[
    ("sincosf", "sinf", "cosf"),
    ("sincos", "sin", "cos"),
    ("__sincosf", "__sinf", "__cosf"),
    ("sincospif", "sinpif", "cospif"),
    ("sincospi", "sinpi", "cospi"),
];

/// Functions that store the whole part of a number and return the rest, by the type of the result.
const WHOLE_AND_REST: &[(&str, &str, &str)] =
    &[("modff", "float", "truncf"), ("modf", "float", "truncf"), ("modf", "double", "trunc")];

/// Functions that store the exponent of a number and return its mantissa, by the type of the result.
const MANTISSA_AND_EXPONENT: &[(&str, &str, &str, &str)] = &[
    ("frexpf", "float", "ilogbf", "ldexpf"),
    ("frexp", "float", "ilogbf", "ldexpf"),
    ("frexp", "double", "ilogb", "ldexp"),
];

/// Clang's built-in constants, and the limits of `double` and `float`.
const CONSTANTS: &[(&str, &str, f64)] = &[
    ("__builtin_inff", "float", f64::INFINITY),
    ("__builtin_inf", "double", f64::INFINITY),
    ("__builtin_huge_valf", "float", f64::INFINITY),
    ("__builtin_huge_val", "double", f64::INFINITY),
    ("__builtin_nanf", "float", f64::NAN),
    ("__builtin_nan", "double", f64::NAN),
    ("infinity", "float", f64::INFINITY),
    ("infinity", "double", f64::INFINITY),
    ("quiet_NaN", "float", f64::NAN),
    ("quiet_NaN", "double", f64::NAN),
    ("max", "float", f32::MAX as f64),
    ("max", "double", f64::MAX),
    ("min", "float", f32::MIN_POSITIVE as f64),
    ("min", "double", f64::MIN_POSITIVE),
    ("lowest", "float", f32::MIN as f64),
    ("lowest", "double", f64::MIN),
    ("epsilon", "float", f32::EPSILON as f64),
    ("epsilon", "double", f64::EPSILON),
];

/// Headers of a CUDA toolkit that define what the tables know by name.
const TOOLKIT_HEADERS: &[&str] =
    &["math_functions.hpp", "vector_functions.hpp", "device_functions.hpp", "cuda_runtime.h", "math_functions.h"];

/// Parts of the names of headers that define functions whose insides are not read: our own, and the libraries'.
const LIBRARY_HEADERS: &[&str] = &["cotangent/runtime_api.h", "/thrust/", "/cub/"];

/// The folder of our own headers for libraries, which are read like the user's.
const OWN_LIBRARIES: &[&str] = &["/common/cotangent/cub/", "/common/cotangent/thrust/"];

impl<'a> Body<'_, 'a> {
    /// What a call calls.
    pub(super) fn callee(&mut self, node: &'a Node) -> Lowered<Callee<'a>> {
        let Some(head) = node.inner.first() else { return broken(node.span, "a call of nothing") };
        let head = strip(head);
        let (id, name, object) = match (head.kind, &head.data.referenced_decl, head.data.referenced_member_decl) {
            (Kind::DeclRefExpr, Some(reference), _) => {
                let object = (reference.kind == Kind::CXXMethodDecl && node.kind == Kind::CXXOperatorCallExpr)
                    .then(|| node.inner.get(1).map(|node| Object { node, is_arrow: false }))
                    .flatten();
                (reference.id, reference.name.clone().unwrap_or_default(), object)
            }
            (Kind::MemberExpr, _, Some(member)) => {
                let object = head.inner.first().map(|node| Object { node, is_arrow: head.data.is_arrow });
                (member, head.data.name.clone().unwrap_or_default(), object)
            }
            _ => {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_CALL,
                    node.span,
                    "a call through a pointer is not supported",
                    "called here",
                    "call a function by its name, or pass a functor as a template argument",
                );
            }
        };
        self.named_callee(node, head, id, &name, object)
    }

    fn named_callee(
        &mut self,
        node: &'a Node,
        head: &'a Node,
        id: NodeId,
        name: &str,
        object: Option<Object<'a>>,
    ) -> Lowered<Callee<'a>> {
        let args = node.inner.len() - 1;
        if let Some(object) = object
            && self.context.vector_elements(self.pass, object.node.ty()).is_some()
        {
            return Ok(Callee::Vector(vector::member(name, node)?, object.node));
        }
        if let Some(own) = self.own_runtime(id, name) {
            return Ok(Callee::Runtime(own));
        }
        if object.is_none()
            && let Some(stated) = self.context.with_rule(self.pass, id)
            && let Some(declared) = self.context.declarations(self.pass).get(stated)
        {
            return Ok(Callee::Function { definition: declared.node, object });
        }
        let known = self.known_function(node, head, name, args);
        if known.is_none()
            && let Some(Unsupported { what, instead }) = self.unsupported(node, id, name)
        {
            let message = format!("`{name}` is {what}");
            return problem_with_help(diagnostic::UNSUPPORTED_CALL, node.span, message, "called here", instead);
        }
        if let Some(definition) = self.user_definition(id)
            && !(is_maker(name) && known.is_some())
            && !(is_of_runtime(name) && known.is_some())
        {
            self.refuse_unreadable(node, name, definition)?;
            let is_static = definition.data.storage_class.as_deref() == Some("static");
            let is_implicit = definition.data.is_implicit || definition.data.explicitly_defaulted.is_some();
            if definition.name() == "operator=" && is_implicit {
                return Ok(Callee::CopyAssignment);
            }
            let object = object.filter(|_| !is_static);
            return Ok(Callee::Function { definition, object });
        }
        if name == "operator=" {
            return Ok(Callee::CopyAssignment);
        }
        if let Some(object) = object.filter(|object| name.starts_with("operator ") && is_half(object.node.ty())) {
            return Ok(Callee::FromHalf(object.node));
        }
        match known {
            Some(callee) => Ok(callee),
            None if TEXTURES.iter().any(|family| name.starts_with(family)) => problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                format!("`{name}` uses a texture or surface, which are not supported"),
                "the memory behind it is not known",
                "read the array itself, and interpolate in the kernel",
            ),
            None => problem_with_help(
                diagnostic::NO_BODY,
                node.span,
                format!("the body of `{name}` is not in this translation unit"),
                "called here",
                "include the file that defines it; functions of the standard library are not read",
            ),
        }
    }

    /// Refuses a function of the host at its call whose body cannot be read, however it is called: it may pass through, as what
    /// writes messages or measures time does. One that gives memory must not: two calls may give the same.
    fn refuse_unreadable(&self, node: &Node, name: &str, definition: &'a Node) -> Lowered<()> {
        let is_word = |word: &str| matches!(word, "void" | "bool" | "int" | "float" | "double" | "long" | "unsigned");
        if self.pass != Pass::Host || !node.ty().split(' ').all(is_word) {
            return Ok(());
        }
        if definition.ty().contains("...)") {
            let message = format!("`{name}` takes any number of arguments, which is not supported");
            let instead = "leave the message out, or hand it texts and numbers alone";
            return problem_with_help(diagnostic::UNSUPPORTED_CALL, node.span, message, "called here", instead);
        }
        kept_variable(definition).map_or(Ok(()), refuse_static)
    }

    /// A function of `cotangent/runtime.hpp`, by its full name.
    fn own_runtime(&self, id: NodeId, name: &str) -> Option<Name> {
        let declarations = self.context.declarations(self.pass);
        let scope = declarations.scope(declarations.get(id)?);
        let full_name = format!("{}{name}", scope.spelling);
        (scope.spelling == "cotangent::" && is_runtime(&full_name)).then(|| full_name.into())
    }

    /// What is known about a function of CUDA or its libraries that is refused. One that the user defines, or declares
    /// in the file that calls it, is the user's, whatever its name.
    fn unsupported(&self, call: &Node, id: NodeId, name: &str) -> Option<Unsupported> {
        let declarations = self.context.declarations(self.pass);
        let Some(declared) = declarations.get(id) else { return unsupported(name) };
        let found = unsupported(&format!("{}{name}", declarations.scope(declared).spelling))?;
        let file = declarations.file_name(declared.node.span);
        let is_in = |parts: &[&str]| parts.iter().any(|part| file.contains(part));
        let is_library = is_in(LIBRARY_HEADERS) && !is_in(OWN_LIBRARIES);
        let is_own = self.user_definition(id).is_some() || file == declarations.file_name(call.span);
        (is_library || !is_own).then_some(found)
    }

    /// The definition of a function, if the user wrote it.
    fn user_definition(&self, id: NodeId) -> Option<&'a Node> {
        let declarations = self.context.declarations(self.pass);
        let definition = declarations.definition(id)?;
        let node = declarations.get(definition)?.node;
        let file = declarations.file_name(node.span);
        let base = file.rsplit('/').next().unwrap_or(file);
        (!TOOLKIT_HEADERS.contains(&base) || file == base).then_some(node)
    }

    /// What the tables know under that name.
    fn known_function(&self, node: &Node, head: &Node, name: &str, args: usize) -> Option<Callee<'a>> {
        if is_half(head.ty())
            && let Some(call) = half_call(name, args).or_else(|| pair_atomic(name, head.ty()))
        {
            return Some(Callee::Half(call));
        }
        let takes_references = head.ty().contains('&');
        if args <= 1
            && (args == 0 || name.starts_with("__builtin_nan"))
            && let Some((_, _, value)) = CONSTANTS.iter().find(|(known, ty, _)| *known == name && *ty == node.ty())
        {
            return Some(Callee::Constant(*value));
        }
        if let Some((_, sine, cosine)) = SINE_AND_COSINE.iter().find(|(known, ..)| *known == name) {
            return Some(Callee::SineAndCosine(sine, cosine));
        }
        let plain = name.strip_prefix("__builtin_").unwrap_or(name);
        if let Some((.., whole)) = WHOLE_AND_REST.iter().find(|(known, ty, _)| *known == plain && *ty == node.ty()) {
            return Some(Callee::WholeAndRest(whole));
        }
        let mut exponents = MANTISSA_AND_EXPONENT.iter();
        if let Some((.., exponent, scale)) = exponents.find(|(known, ty, ..)| *known == plain && *ty == node.ty()) {
            return Some(Callee::MantissaAndExponent(exponent, scale));
        }
        Some(match name {
            "max" if args == 2 && takes_references => Callee::StandardMax,
            "min" if args == 2 && takes_references => Callee::StandardMin,
            "move" | "forward" if args == 1 && takes_references => Callee::Identity,
            "swap" if args == 2 && takes_references => Callee::Swap,
            _ if LOADS.contains(&name) => Callee::LoadThrough,
            _ if STORES.contains(&name) => Callee::StoreThrough,
            _ if is_maker(name) => Callee::MakeVector,
            "__builtin_ctz" if args == 1 => Callee::TrailingZeros,
            "dynamic_shared_bytes" if args == 0 => Callee::DynamicSharedBytes,
            _ if is_math(plain) && args > 0 => Callee::Math(plain.into()),
            _ if OPAQUE_CALLS.contains(&name) => Callee::Opaque(name.into()),
            _ if is_runtime(name) => Callee::Runtime(name.into()),
            _ if PREPARATIONS.contains(&name) => Callee::Preparation,
            PITCHED_MEMORY if args == 4 => Callee::Runtime(name.into()),
            _ if C_FUNCTIONS.contains(&name) && self.pass == Pass::Host => Callee::Runtime(name.into()),
            "memcpy" | "__builtin_memcpy" if self.pass == Pass::Device && args == 3 => Callee::CopyBytes,
            _ => Callee::Intrinsic(intrinsic(name)?),
        })
    }
}

/// Whether the spelling of a type names one of half precision.
fn is_half(spelling: &str) -> bool {
    ["__half", "__nv_bfloat16"].iter().any(|name| spelling.contains(name))
}

/// The atomic addition to a pair; that to one number is an atomic like any other.
fn pair_atomic(name: &str, spelling: &str) -> Option<HalfCall> {
    let is_pair = ["__half2", "__nv_bfloat162"].iter().any(|name| spelling.contains(name));
    (name == "atomicAdd" && is_pair).then_some(HalfCall::AtomicAdd)
}

/// Records of the CUDA runtime that a function makes of their fields.
const MADE_OF_FIELDS: &[&str] = &["cudaPitchedPtr", "cudaExtent", "cudaPos"];

/// Whether a function makes one of CUDA's vectors, or another record of its fields.
fn is_maker(name: &str) -> bool {
    name.strip_prefix("make_").is_some_and(|made| is_builtin_record(made) || MADE_OF_FIELDS.contains(&made))
}

/// The function that is called, without parentheses and conversions around it, its address, or the template parameter that
/// it was given for.
fn strip(node: &Node) -> &Node {
    match node.kind {
        Kind::ParenExpr | Kind::ImplicitCastExpr => node.inner.first().map_or(node, strip),
        Kind::SubstNonTypeTemplateParmExpr => node.inner.last().map_or(node, strip),
        Kind::UnaryOperator if matches!(node.opcode(), "&" | "*") => {
            let named = node.inner.first().map(strip).filter(|inner| names_function(inner));
            named.unwrap_or(node)
        }
        _ => node,
    }
}

/// A variable of a function that keeps its value between calls, and can change.
fn kept_variable(node: &Node) -> Option<&Node> {
    let is_kept = |it: &Node| it.kind == Kind::VarDecl && it.data.storage_class.as_deref() == Some("static");
    if is_kept(node) && !is_constant(node) { Some(node) } else { node.inner.iter().find_map(kept_variable) }
}

/// Whether an expression is the name of a function, rather than of a pointer to one.
fn names_function(node: &Node) -> bool {
    let reference = node.data.referenced_decl.as_ref().filter(|_| node.kind == Kind::DeclRefExpr);
    reference.is_some_and(|reference| reference.kind == Kind::FunctionDecl)
}
