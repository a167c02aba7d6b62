//! Every derivative of the table of functions agrees with differences of the function itself, on the CPU.
//!
//! One program is made of the table: for each name and precision a function that calls it and one for each derivative,
//! printed as the compiler prints them. At random points of the domain that the table states, derivatives in `double`
//! and `float` are compared with central differences in `double`. Where a convention decides, at kinks and poles, they
//! are compared with what the manual promises.

use std::fmt::Write as _;
use std::process::Command;

use cotangent::emit::{Dialect, emit};
use cotangent::index::IdVec;
use cotangent::ir::{
    Expr, ExprKind, Function, Local, Module, Place, Space, Stmt, StmtKind, Storage, Type, text, validate, walk,
};
use cotangent::rules::{Partial, Rule, derivative, helper, math_functions};
use cotangent::source::Span;
use cotangent_driver::compile::{CpuRequest, Overlay, compile};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::{Environment, Tools};

/// How many points each derivative is compared at.
const POINTS: usize = 40;

/// How far a derivative may be from the difference, relative to the larger of it and 0.1.
const TOLERANCE_F64: f64 = 1e-6;
const TOLERANCE_F32: f64 = 1e-4;

/// What derivatives are where a convention decides.
const CONVENTIONS: &[(&str, &[f64], &[f64])] = &[
    ("fabs", &[0.0], &[0.0]),
    ("abs", &[-0.0], &[0.0]),
    ("fmin", &[1.0, 1.0], &[1.0, 0.0]),
    ("fmin", &[f64::NAN, 1.0], &[0.0, 1.0]),
    ("fmin", &[1.0, f64::NAN], &[1.0, 0.0]),
    ("max", &[1.0, 1.0], &[1.0, 0.0]),
    ("fmaxf", &[f64::NAN, 1.0], &[0.0, 1.0]),
    ("fmaxf", &[1.0, f64::NAN], &[1.0, 0.0]),
    ("fdim", &[1.0, 1.0], &[0.0, 0.0]),
    ("copysign", &[0.0, -1.0], &[0.0, 0.0]),
    ("__saturatef", &[0.0], &[1.0]),
    ("__saturatef", &[1.0], &[1.0]),
    ("__saturatef", &[1.5], &[0.0]),
    ("sqrt", &[0.0], &[f64::INFINITY]),
    ("hypot", &[0.0, 0.0], &[0.0, 0.0]),
    ("rhypotf", &[0.0, 0.0], &[0.0, 0.0]),
    ("norm3d", &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]),
    ("rnorm3d", &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]),
    ("norm4df", &[0.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.0]),
    ("rnorm4d", &[0.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.0]),
    ("atan2", &[0.0, 0.0], &[0.0, 0.0]),
    ("pow", &[0.0, 0.0], &[0.0, 0.0]),
    ("pow", &[0.0, 1.0], &[1.0, 0.0]),
    ("pow", &[0.0, 2.0], &[0.0, 0.0]),
    ("pow", &[0.0, 0.5], &[f64::INFINITY, 0.0]),
    ("powf", &[-2.0, 3.0], &[12.0, f64::NAN]),
    ("powi", &[0.0, 0.0], &[0.0]),
    ("j1", &[0.0], &[0.5]),
    ("jn", &[0.0, 0.0], &[0.0, 0.0]),
    ("jn", &[1.0, 0.0], &[0.0, 0.5]),
    ("cyl_bessel_i1f", &[0.0], &[0.5]),
];

/// A name in one precision.
struct Case {
    name: String,
    real: Type,
    rule: &'static Rule,
}

#[test]
fn derivatives_agree_with_differences() {
    let cases = cases();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut program = Program::new();
    let mut expected = Vec::new();
    for case in &cases {
        let points: Vec<Vec<f64>> = (0..POINTS).map(|_| case.point(&mut random)).collect();
        for position in case.positions() {
            program.compare(case, position, &points);
            expected.extend(points.iter().map(|point| (case, position, point.clone())));
        }
    }
    let lines = program.run();
    assert_eq!(lines.len(), expected.len());
    let mut wrong = String::new();
    let mut at_kinks = 0;
    for ((derivative, difference), (case, position, point)) in lines.iter().zip(&expected) {
        if difference.is_nan() {
            at_kinks += 1;
            continue;
        }
        let tolerance = if case.real == Type::FLOAT { TOLERANCE_F32 } else { TOLERANCE_F64 };
        let error = (derivative - difference).abs() / difference.abs().max(0.1);
        if error.is_nan() || error > tolerance {
            let name = &case.name;
            let _ = writeln!(wrong, "{name} {position} {:?} {point:?}: {derivative} is not {difference}", case.real);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(at_kinks * 500 < expected.len(), "{at_kinks} points could not be compared");
    println!("{} derivatives of {} names and precisions at {POINTS} points each", expected.len() / POINTS, cases.len());
}

#[test]
fn conventions_are_as_promised() {
    let cases = cases();
    let mut program = Program::new();
    let mut promised = Vec::new();
    for (name, point, derivatives) in CONVENTIONS {
        let with_name: Vec<&Case> = cases.iter().filter(|case| case.name == *name).collect();
        assert!(!with_name.is_empty(), "{name}");
        for case in with_name {
            for position in case.positions() {
                program.compare(case, position, &[point.to_vec()]);
                promised.push((format!("{name} {point:?} in {position}"), derivatives[position]));
            }
        }
    }
    for ((derivative, _), (what, promised)) in program.run().iter().zip(promised) {
        let is_same = *derivative == promised || (derivative.is_nan() && promised.is_nan());
        assert!(is_same, "{what}: {derivative} is not {promised}");
    }
}

/// All names with derivatives, in the precisions that they take. Names for half precision share the formulas of others.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in math_functions() {
        let rule = derivative(&name).unwrap();
        if rule.parameters().is_empty() || rule.is_half() {
            continue;
        }
        if !rule.is_single() {
            cases.push(Case { name: name.clone(), real: Type::DOUBLE, rule });
        }
        cases.push(Case { name, real: Type::FLOAT, rule });
    }
    cases
}

impl Case {
    /// The positions of the arguments that have a derivative, zero or not.
    fn positions(&self) -> Vec<usize> {
        let parameters = self.rule.parameters().into_iter().enumerate();
        parameters.filter(|(_, parameter)| !parameter.is_integer).map(|(position, _)| position).collect()
    }

    /// A point of the domain, which the precision has.
    fn point(&self, random: &mut Random) -> Vec<f64> {
        let number = |parameter: cotangent::rules::Parameter, unit: f64| {
            let (low, high) = parameter.domain;
            let value = if parameter.is_integer {
                (low + unit * (high - low + 1.0)).floor()
            } else {
                low + unit * (high - low)
            };
            f64::from(value as f32)
        };
        self.rule.parameters().into_iter().map(|parameter| number(parameter, random.unit())).collect()
    }
}

/// A program that prints derivatives beside differences.
struct Program {
    module: Module,
    rows: String,
}

impl Program {
    fn new() -> Program {
        Program { module: Module::default(), rows: String::new() }
    }

    /// Lets the program compare the derivative in one argument at some points.
    fn compare(&mut self, case: &Case, position: usize, points: &[Vec<f64>]) {
        let partial = self.function(case.rule, &case.real, |args, result| {
            let call = Expr::new(ExprKind::Math(case.name.as_str().into(), args.to_vec()), result.clone());
            match case.rule.partial(position) {
                Partial::Zero => Expr::new(ExprKind::Float(cotangent::ir::Real(0.0)), result.clone()),
                Partial::Expr(_) => case.rule.build(position, args, &call).expect("a formula is built"),
                Partial::Refused(reason) => panic!("{}: {reason}", case.name),
            }
        });
        // What has no form in double is linear between its kinks, and its differences are exact.
        let (reference, real, step) = match case.rule.in_double() {
            Some(name) => (name, &Type::DOUBLE, 1e-4),
            None => (case.name.clone(), &Type::FLOAT, 1.0 / 128.0),
        };
        let reference = self.function(case.rule, real, |args, result| {
            Expr::new(ExprKind::Math(reference.as_str().into(), args.to_vec()), result.clone())
        });
        let args: Vec<String> = (0..case.rule.parameters().len()).map(|i| format!("p[{i}]")).collect();
        let args = args.join(", ");
        let row = |point: &Vec<f64>| point.iter().map(|value| literal(*value)).collect::<Vec<_>>().join(", ");
        let points: Vec<String> = points.iter().map(|point| format!("{{{}}}", row(point))).collect();
        let _ = writeln!(
            self.rows,
            "  for (Point point : {{{}}}) {{\n    show(point, {position}, {step}, [](const double* p) -> double \
             {{ return {partial}({args}); }},\n        [](const double* p) -> double {{ return {reference}({args}); }});\n  }}",
            points.iter().map(|point| format!("Point{{{point}}}")).collect::<Vec<_>>().join(", ")
        );
    }

    /// Adds a device function with the parameters of a rule; its name.
    fn function(&mut self, rule: &Rule, real: &Type, value: impl FnOnce(&[Expr], &Type) -> Expr) -> String {
        let mut locals = IdVec::new();
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for parameter in rule.parameters() {
            let ty = if parameter.is_integer { Type::INT } else { real.clone() };
            let name = format!("_{}", parameter.name).into();
            let id =
                locals.push(Local { name, ty: ty.clone(), storage: Storage::Private, align: None, span: Span::NONE });
            params.push(id);
            args.push(Expr::load(Place::local(id, ty)));
        }
        let body = vec![Stmt::new(StmtKind::Return(Some(value(&args, real))))];
        let mut helpers = Vec::new();
        walk::each_expr(&body, &mut |expr| helpers.extend(helper_text(expr)));
        for text in helpers {
            let function = text::parse(text).unwrap().functions.iter().next().unwrap().clone();
            if self.module.function(&function.name).is_none() {
                self.module.functions.push(function);
            }
        }
        let name = format!("function_{}", self.module.functions.len());
        self.module.functions.push(Function {
            name: name.as_str().into(),
            space: Space::Device,
            params,
            result: real.clone(),
            locals,
            body,
            launch_bounds: None,
            is_extern_c: false,
            span: Span::NONE,
            note: None,
        });
        name
    }

    /// Runs the program; a derivative and a difference for each point.
    fn run(self) -> Vec<(f64, f64)> {
        assert_eq!(validate(&self.module), Ok(()));
        let functions = emit(&self.module, Dialect::Cpu);
        let source = format!("{PROLOGUE}{functions}{SHOW}int main() {{\n{}}}\n", self.rows);
        let scratch = tempfile::tempdir().unwrap();
        let (file, output) = (scratch.path().join("rules.cu"), scratch.path().join("rules.so"));
        std::fs::write(&file, &source).unwrap();
        let request = CpuRequest {
            units: std::slice::from_ref(&file),
            texts: &[Overlay { path: file.clone(), text: source }],
            flags: &ParseFlags::default(),
            check: false,
            colour: false,
            output: &output,
        };
        let tools = Tools::find(Environment::of_process()).unwrap();
        compile(&tools, &request).unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        let run = command
            .args(["__exec", "0", "0", "2", &std::process::id().to_string()])
            .arg(&output)
            .arg("rules")
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let number = |text: &str| text.parse().unwrap_or(f64::NAN);
        let printed = String::from_utf8(run.stdout).unwrap();
        printed.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (number(a), number(b))).collect()
    }
}

fn helper_text(expr: &Expr) -> Option<&'static str> {
    if let ExprKind::Math(name, _) = &expr.kind { helper(name) } else { None }
}

fn literal(value: f64) -> String {
    if value.is_nan() { "NAN".to_owned() } else { format!("{value:?}") }
}

/// `powi` is a function of CUDA's device library only.
const PROLOGUE: &str = "#include <cmath>\n#include <cstdio>\n#include <initializer_list>\n\
    static inline double powi(double x, int n) { return pow(x, (double)n); }\n\
    static inline float powif(float x, int n) { return powf(x, (float)n); }\n";

/// A central difference of fourth order, beside the derivative; none if there is a kink or a jump in between.
const SHOW: &str = "
struct Point {
  double at[4];
};
using Evaluate = double (*)(const double*);
static void show(Point p, int i, double h, Evaluate partial, Evaluate value) {
  auto moved = [&](double by) {
    Point q = p;
    q.at[i] += by;
    return value(q.at);
  };
  double near = (moved(h) - moved(-h)) / (2 * h);
  double far = (moved(2 * h) - moved(-2 * h)) / (4 * h);
  bool is_smooth = fabs(far - near) <= 1e-3 * fmax(fabs(near), 0.1);
  printf(\"%.17g %.17g\\n\", partial(p.at), is_smooth ? (4 * near - far) / 3 : NAN);
}
";

/// A small generator, so that each run compares the same points.
struct Random(u64);

impl Random {
    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
