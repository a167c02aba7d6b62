//! The built-in variables of a thread: `threadIdx` and its like.
//!
//! A variable is one of them if CUDA's headers declare it. A program may have variables of its own with these names.

use super::body::Body;
use super::context::Lowered;
use crate::clang::{Kind, Node};
use crate::ir::{Axis, Builtin, Expr, ExprKind, Type};

/// A coordinate of a built-in variable.
type Coordinate = fn(Axis) -> Builtin;

/// The built-in variables that have coordinates.
const VECTORS: [(&str, Coordinate); 4] = [
    ("threadIdx", Builtin::ThreadIdx),
    ("blockIdx", Builtin::BlockIdx),
    ("blockDim", Builtin::BlockDim),
    ("gridDim", Builtin::GridDim),
];

impl<'a> Body<'_, 'a> {
    /// `threadIdx.x` and its like.
    pub(super) fn builtin_variable(&self, node: &Node) -> Option<Expr> {
        if node.kind == Kind::DeclRefExpr {
            let is_warp_size = self.builtin_name(node)? == "warpSize";
            return is_warp_size.then(|| Expr::new(ExprKind::Builtin(Builtin::WarpSize), Type::INT).at(node.span));
        }
        // In Clang's own headers the coordinates are properties: read by calling a member of the variable.
        let member = match node.kind {
            Kind::PseudoObjectExpr => node.inner.last()?.inner.first()?.inner.first()?,
            _ => node,
        };
        let base = member.inner.first().filter(|_| member.kind == Kind::MemberExpr)?;
        let base = if base.kind == Kind::OpaqueValueExpr { base.inner.first()? } else { base };
        let axis = match member.name().trim_start_matches("__fetch_builtin_") {
            "x" => Axis::X,
            "y" => Axis::Y,
            "z" => Axis::Z,
            _ => return None,
        };
        let builtin = vector(self.builtin_name(base)?)?(axis);
        Some(Expr::new(ExprKind::Builtin(builtin), Type::UINT).at(node.span))
    }

    /// `threadIdx` as a whole, as a value of its record.
    pub(super) fn whole_builtin(&mut self, node: &'a Node) -> Lowered<Option<Expr>> {
        let Some(builtin) = self.builtin_name(node).and_then(vector) else { return Ok(None) };
        let ty = self.context.node_type(self.pass, node)?;
        let coordinate = |axis| Expr::new(ExprKind::Builtin(builtin(axis)), Type::UINT).at(node.span);
        let values = [Axis::X, Axis::Y, Axis::Z].map(coordinate).to_vec();
        Ok(Some(Expr::new(ExprKind::Construct(values), ty).at(node.span)))
    }

    /// The name of the variable that an expression names, if it is none of the program's own.
    fn builtin_name<'n>(&self, node: &'n Node) -> Option<&'n str> {
        let reference = node.data.referenced_decl.as_ref().filter(|_| node.kind == Kind::DeclRefExpr)?;
        let declarations = self.context.declarations(self.pass);
        // A program cannot declare these names outside of functions, namespaces and classes.
        let is_own = self.bindings.contains_key(&reference.id)
            || declarations.get(reference.id).is_some_and(|declared| {
                declared.record.is_some()
                    || !declarations.scope(declared).spelling.is_empty()
                    || declarations.is_local(reference.id)
            });
        reference.name.as_deref().filter(|_| !is_own)
    }
}

fn vector(name: &str) -> Option<Coordinate> {
    VECTORS.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
}
