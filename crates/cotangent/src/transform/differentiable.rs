//! What can have a derivative, judged by types alone: floats, and what contains or points to them.

use crate::ir::{Field, FunctionId, LocalId, Module, RecordId, Type};

/// The parameters of a function that a request may name, in order.
pub fn differentiable_parameters(module: &Module, function: FunctionId) -> Vec<LocalId> {
    let function = &module.functions[function];
    let is_differentiable = |param: &LocalId| leads_to_floats(module, &function.locals[*param].ty);
    function.params.iter().copied().filter(is_differentiable).collect()
}

/// Whether a value of the type contains a float, or leads to one through pointers.
pub(super) fn leads_to_floats(module: &Module, ty: &Type) -> bool {
    any_leaf(module, ty, true, &mut Vec::new(), &|leaf| matches!(leaf, Type::Float(_)))
}

/// Whether a value of the type itself contains a pointer or reference.
pub(super) fn contains_pointer(module: &Module, ty: &Type) -> bool {
    any_leaf(module, ty, false, &mut Vec::new(), &Type::is_pointer)
}

/// Whether both types are made of floats of one and the same kind: then a pointer to one may be used as a pointer to the
/// other, and its shadow likewise.
pub(super) fn have_same_leaves(module: &Module, left: &Type, right: &Type) -> bool {
    let first = first_leaf(module, left);
    left == right || first.is_some_and(|kind| is_made_of(module, left, &kind) && is_made_of(module, right, &kind))
}

/// Whether a type is made of one leaf and nothing else.
pub(super) fn is_made_of(module: &Module, ty: &Type, kind: &Type) -> bool {
    !any_leaf(module, ty, false, &mut Vec::new(), &|leaf| leaf != kind)
}

/// How many pointers follow each other from a value of the type, at most; a record that points to itself counts once.
pub(super) fn pointer_levels(module: &Module, ty: &Type) -> usize {
    fn levels(module: &Module, ty: &Type, open: &mut Vec<RecordId>) -> usize {
        match ty {
            Type::Pointer(pointer) => 1 + levels(module, &pointer.pointee, open),
            Type::Array(element, _) => levels(module, element, open),
            Type::Record(id) if !open.contains(id) => {
                open.push(*id);
                let fields = fields(module, *id).iter();
                let most = fields.map(|field| levels(module, &field.ty, open)).max().unwrap_or(0);
                open.pop();
                most
            }
            Type::Record(_) | Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => 0,
        }
    }
    levels(module, ty, &mut Vec::new())
}

fn first_leaf(module: &Module, ty: &Type) -> Option<Type> {
    match ty {
        Type::Array(element, _) => first_leaf(module, element),
        Type::Record(id) => fields(module, *id).first().and_then(|field| first_leaf(module, &field.ty)),
        Type::Void => None,
        Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => Some(ty.clone()),
    }
}

/// Whether a leaf of the type is as asked; pointers are leaves, and what is behind them counts if they are followed.
fn any_leaf(
    module: &Module,
    ty: &Type,
    follow: bool,
    open: &mut Vec<RecordId>,
    is_wanted: &impl Fn(&Type) -> bool,
) -> bool {
    match ty {
        Type::Pointer(pointer) => {
            is_wanted(ty) || (follow && any_leaf(module, &pointer.pointee, follow, open, is_wanted))
        }
        Type::Array(element, _) => any_leaf(module, element, follow, open, is_wanted),
        Type::Record(id) if open.contains(id) => false,
        Type::Record(id) => {
            open.push(*id);
            let found = fields(module, *id).iter().any(|field| any_leaf(module, &field.ty, follow, open, is_wanted));
            open.pop();
            found
        }
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => is_wanted(ty),
    }
}

fn fields(module: &Module, id: RecordId) -> &[Field] {
    module.records.get(id).map_or(&[], |record| &record.fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::carries_floats;
    use crate::ir::text;

    #[test]
    fn leaves_are_found_through_records_arrays_and_pointers() {
        let module = text::parse(
            "record V { x: float, y: float } record List { next: List*, v: V[2] } record Mix { n: int, p: const V* }
             kernel k(n: int, x: float, v: V*, l: List*, m: Mix, q: int**) { }",
        )
        .expect("the text is well-formed");
        let (id, function) = module.functions.entries().next().expect("a function");
        let names: Vec<&str> =
            differentiable_parameters(&module, id).into_iter().map(|param| function.local_name(param)).collect();
        assert_eq!(names, ["x", "v", "l", "m"]);
        let ty = |index: u32| &function.locals[LocalId(index)].ty;
        assert!(carries_floats(&module, ty(1)) && !carries_floats(&module, ty(2)) && !carries_floats(&module, ty(4)));
        assert!(contains_pointer(&module, ty(4)) && !contains_pointer(&module, ty(1)));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|index| pointer_levels(&module, ty(index))), [0, 0, 1, 2, 1, 2]);
        let v = ty(2).pointee().expect("a pointer");
        assert!(have_same_leaves(&module, v, &Type::FLOAT) && !have_same_leaves(&module, v, &Type::DOUBLE));
        assert!(!have_same_leaves(&module, ty(4), &Type::FLOAT));
    }
}
