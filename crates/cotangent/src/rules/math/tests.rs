//! The table as a whole: names, formulas, and what is built from them.

use expect_test::expect;

use super::*;
use crate::index::IdVec;
use crate::ir::{
    BinaryOp, ExprKind, FloatKind, Function, Local, Module, Place, Space, Stmt, StmtKind, Storage, text, validate,
};
use crate::source::Span;

#[test]
fn every_name_is_there_once() {
    let mut names: Vec<String> = entries().flat_map(Entry::spellings).map(|(name, _)| name).collect();
    names.extend(entries().flat_map(Entry::half_spellings));
    assert_eq!(names.len(), RULES.len());
    names.sort();
    assert_eq!(names, math_functions());
    assert!(!is_math("f") && !is_math("") && !is_math("__fadd") && !is_math("printf"));
}

#[test]
fn most_functions_have_derivatives() {
    let with_formula = RULES.values().filter(|rule| rule.partials.iter().any(|p| matches!(p, Partial::Expr(_))));
    assert!(with_formula.count() >= 200);
}

#[test]
fn every_parameter_has_a_derivative() {
    for (name, rule) in RULES.iter() {
        if let Class::Derivative(_, partials) = rule.entry.class {
            assert_eq!(rule.parameters().len(), partials.len(), "{name}");
            for (position, parameter) in rule.parameters().iter().enumerate() {
                assert!(!parameter.is_integer || *rule.partial(position) == Partial::Zero, "{name}");
                assert!(parameter.domain.0 < parameter.domain.1 && parameter.name != "y", "{name}");
            }
        }
    }
}

/// A function that returns the derivative in one argument of a call with variables as arguments.
fn function_of(name: &str, argument: usize, real: &Type) -> Option<Module> {
    let rule = derivative(name).unwrap();
    let mut locals = IdVec::new();
    let mut declare = |name: &str, ty: Type| {
        let id = locals.push(Local {
            name: name.into(),
            ty: ty.clone(),
            storage: Storage::Private,
            align: None,
            span: Span::NONE,
        });
        (id, Expr::load(Place::local(id, ty)))
    };
    let parameters = rule.parameters();
    let types = parameters.iter().map(|parameter| if parameter.is_integer { Type::INT } else { real.clone() });
    let arguments = parameters.iter().zip(types).map(|(parameter, ty)| declare(parameter.name, ty));
    let (mut params, args): (Vec<_>, Vec<_>) = arguments.unzip();
    let (result_id, result) = declare("y", real.clone());
    params.push(result_id);
    let value = rule.build(argument, &args, &result)?;
    let mut module = Module::default();
    module.functions.push(Function {
        name: "f".into(),
        space: Space::Device,
        params,
        result: value.ty.clone(),
        locals,
        body: vec![Stmt::new(StmtKind::Return(Some(value)))],
        launch_bounds: None,
        is_extern_c: false,
        span: Span::NONE,
        note: None,
    });
    Some(module)
}

#[test]
fn every_formula_is_valid_in_both_precisions() {
    let mut functions = 0;
    for (name, rule) in RULES.iter() {
        let half = Type::Float(FloatKind::Half);
        for real in if rule.is_half() { vec![half] } else { vec![Type::FLOAT, Type::DOUBLE] } {
            for argument in 0..rule.parameters().len() {
                let is_formula = matches!(rule.partial(argument), Partial::Expr(_));
                let module = function_of(name, argument, &real);
                assert_eq!(module.is_some(), is_formula, "{name}");
                if let Some(module) = module {
                    assert_eq!(validate(&module), Ok(()), "{name}: {}", text::print(&module));
                    functions += 1;
                }
            }
        }
    }
    assert!(functions > 400);
}

/// What `build` gives for a call, as the text of a function.
fn built(name: &str, argument: usize, real: &Type) -> String {
    let module = function_of(name, argument, real).unwrap();
    let printed = text::print(&module);
    let line = printed.lines().find(|line| line.contains("return")).unwrap();
    line.trim().trim_start_matches("return ").trim_end_matches(';').to_owned()
}

#[test]
fn functions_inside_have_the_precision_of_the_call() {
    let shown = [
        built("sin", 0, &Type::DOUBLE),
        built("sin", 0, &Type::FLOAT),
        built("__sinf", 0, &Type::FLOAT),
        built("powf", 0, &Type::FLOAT),
        built("__powf", 1, &Type::FLOAT),
        built("jnf", 1, &Type::FLOAT),
        built("tgamma", 0, &Type::FLOAT),
        built("log2f", 0, &Type::FLOAT),
        built("max", 0, &Type::DOUBLE),
        built("hsin", 0, &Type::Float(FloatKind::Half)),
        built("__hfma", 1, &Type::Float(FloatKind::Half)),
        built("hexp2", 0, &Type::Float(FloatKind::BFloat)),
    ];
    expect![[r#"
        cos(x)
        cosf(x)
        __cosf(x)
        ((b == 0.0f) ? 0.0f : (b * powf(a, (b - 1.0f))))
        ((a == 0.0f) ? 0.0f : (y * __logf(a)))
        ((x == 0.0f) ? ((n == 1) ? 0.5f : 0.0f) : ((((n as float) * y) / x) - jnf::<float>((n + 1), x)))
        (y * _cotangent_digammaf(x))
        (1.442695f / x)
        (((a >= b) || (b != b)) ? 1.0 : 0.0)
        cosf((x as float))
        (a as float)
        (0.6931472f * (y as float))"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn constants_leave_no_trace() {
    let x = Expr::new(ExprKind::Math("x".into(), Vec::new()), Type::FLOAT);
    let real = |value: f64| Expr::new(ExprKind::Float(Real(value)), Type::FLOAT);
    let build =
        |name: &str, argument: usize, args: &[Expr]| derivative(name).unwrap().build(argument, args, &x).unwrap();
    let square = build("powf", 0, &[x.clone(), real(2.0)]);
    assert_eq!(square, Expr::binary(BinaryOp::Multiply, real(2.0), x.clone()));
    assert_eq!(build("pow", 0, &[x.clone(), Expr::int(2)]), square);
    assert_eq!(build("powf", 0, &[x.clone(), real(1.0)]), real(1.0));
    assert_eq!(build("powf", 0, &[x.clone(), real(0.0)]), real(0.0));
    let positive = build("fmaxf", 0, &[x.clone(), real(0.0)]);
    let ExprKind::Select(cond, ..) = positive.kind else { panic!("a choice") };
    assert_eq!(*cond, Expr::binary(BinaryOp::GreaterEqual, x, real(0.0)));
}

#[test]
fn only_floating_calls_have_derivatives() {
    let integers = [Expr::int(1), Expr::int(2)];
    assert_eq!(derivative("max").unwrap().build(0, &integers, &Expr::int(2)), None);
    assert_eq!(derivative("__hadd").unwrap().build(0, &integers, &Expr::int(1)), None);
    assert!(matches!(derivative("__float_as_int").unwrap().partial(0), Partial::Refused(_)));
    assert_eq!(*derivative("__int_as_float").unwrap().partial(0), Partial::Zero);
}
