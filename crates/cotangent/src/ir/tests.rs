//! Tests over the source of the IR itself: the documentation of its kinds, and that random modules have all of them.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Write};
use std::ops::ControlFlow;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::walk::{Node, visit_block};
use super::{ExprKind, OpaqueArg, StmtKind, Type, arbitrary};

const STMT: &str = include_str!("stmt.rs");
const EXPR: &str = include_str!("expr.rs");
const TYPES: &str = include_str!("types.rs");
const MODULE: &str = include_str!("module.rs");

/// A variant's name and the comment above it.
struct Variant<'s> {
    name: &'s str,
    comment: String,
}

/// The variants of an enumeration, read from the source.
fn variants<'s>(source: &'s str, enumeration: &str) -> Vec<Variant<'s>> {
    let begin = format!("pub enum {enumeration} {{");
    let mut found = Vec::new();
    let mut comment = String::new();
    for line in source.lines().skip_while(|line| *line != begin).skip(1).take_while(|line| *line != "}") {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text.trim());
            comment.push('\n');
        } else {
            let name = line.split(|character: char| !character.is_alphanumeric()).next().unwrap_or("");
            found.push(Variant { name, comment: std::mem::take(&mut comment) });
        }
    }
    assert!(!found.is_empty(), "{enumeration} is not in the source");
    found
}

#[test]
fn every_kind_says_when_it_is_valid_and_what_its_adjoint_is() {
    for variant in variants(STMT, "StmtKind").into_iter().chain(variants(EXPR, "ExprKind")) {
        let headings: Vec<_> = variant.comment.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(headings, ["# Valid when", "# Adjoint"], "{}", variant.name);
        assert!(!variant.comment.starts_with('#'), "{} does not say what it does", variant.name);
    }
}

/// Keeps letters and digits up to the first other character: the name of a variant.
struct Prefix(String);

impl Write for Prefix {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|character: char| !character.is_alphanumeric());
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn variant_name(value: &impl Debug) -> String {
    let mut prefix = Prefix(String::new());
    // The error only stops the writing.
    let _ = write!(prefix, "{value:?}");
    prefix.0
}

/// Which variants of which enumeration were seen.
#[derive(Default)]
struct Seen(BTreeSet<(&'static str, String)>);

impl Seen {
    fn add(&mut self, enumeration: &'static str, value: &impl Debug) {
        self.0.insert((enumeration, variant_name(value)));
    }

    fn node(&mut self, node: Node<'_>) {
        match node {
            Node::Place(place) => self.add("PlaceKind", &place.kind),
            Node::Expr(expr) => {
                self.add("ExprKind", &expr.kind);
                self.add("Type", &expr.ty);
                if let ExprKind::Binary(op, ..) = &expr.kind {
                    self.add("BinaryOp", op);
                }
                if let ExprKind::Unary(op, _) = &expr.kind {
                    self.add("UnaryOp", op);
                }
                if let ExprKind::Builtin(builtin) = &expr.kind {
                    self.add("Builtin", builtin);
                }
                if let Type::Int(kind) = &expr.ty {
                    self.add("IntKind", kind);
                }
                if let Type::Float(kind) = &expr.ty {
                    self.add("FloatKind", kind);
                }
            }
            Node::Stmt(stmt) => {
                self.add("StmtKind", &stmt.kind);
                if let StmtKind::While { test, .. } = &stmt.kind {
                    self.add("LoopTest", test);
                }
                if let StmtKind::Barrier { kind, .. } = &stmt.kind {
                    self.add("BarrierKind", kind);
                }
                if let StmtKind::Atomic { op, scope, .. } = &stmt.kind {
                    self.add("AtomicOp", op);
                    self.add("Scope", scope);
                }
                if let StmtKind::Collective { op, .. } = &stmt.kind {
                    self.add("CollectiveOp", op);
                }
                if let StmtKind::Opaque { code, args, .. } = &stmt.kind {
                    self.add("Unread", code);
                    args.iter().for_each(|arg: &OpaqueArg| self.add("OpaqueArg", arg));
                }
            }
        }
    }
}

#[test]
fn random_modules_have_every_kind() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut seen = Seen::default();
    for _ in 0..500 {
        let module = arbitrary::modules(2000).new_tree(&mut runner).expect("every list is a module").current();
        for global in module.globals.iter() {
            seen.add("GlobalStorage", &global.storage);
        }
        for function in module.functions.iter() {
            seen.add("Space", &function.space);
            seen.add("Type", &function.result);
            function.locals.iter().for_each(|local| seen.add("Storage", &local.storage));
            let _ = visit_block(&function.body, &mut |node| {
                seen.node(node);
                ControlFlow::<()>::Continue(())
            });
        }
    }
    let enumerations = [
        (
            STMT,
            &["StmtKind", "LoopTest", "BarrierKind", "AtomicOp", "Scope", "CollectiveOp", "Unread", "OpaqueArg"][..],
        ),
        (EXPR, &["ExprKind", "UnaryOp", "BinaryOp", "Builtin", "PlaceKind"]),
        (TYPES, &["Type", "IntKind", "FloatKind"]),
        (MODULE, &["GlobalStorage", "Space", "Storage"]),
    ];
    for (source, names) in enumerations {
        for enumeration in names {
            for variant in variants(source, enumeration) {
                let is_seen = seen.0.contains(&(*enumeration, variant.name.to_owned()));
                assert!(is_seen, "no random module has {enumeration}::{}", variant.name);
            }
        }
    }
}
