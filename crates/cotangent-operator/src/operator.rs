//! The operator in C++: its schema, what it does on each device, shapes alone, and autograd.

use std::fmt::Write as _;

use crate::arguments::{Argument, Array, Extra, Kind, Number, Of, Operator, Own, Part, Role};
use crate::expression::Expression;
use crate::kernels::{function_names, namespace};

const TEMPLATE: &str = include_str!("../templates/operator.cpp");

/// The file.
pub(crate) fn text(operator: &Operator<'_>, source: &str) -> String {
    let statement = operator.statement;
    let launch = &statement.launch;
    let sizes = |all: &[Expression]| {
        let mut three: Vec<String> = all.iter().map(|size| format!("as_size({})", in_cpp(operator, size))).collect();
        three.resize(3, "1".to_owned());
        three.join(", ")
    };
    let all = All::of(operator);
    let numbers = joined(operator.numbers().map(|number| format!(", {} {}", number.kind.names().1, number.name)), "");
    let replaced = [
        ("KERNELS_CPU", kernels(operator, "cpu")),
        ("KERNELS_CUDA", kernels(operator, "cuda")),
        ("SIZE_FIELDS", joined(operator.size_names().iter().map(|name| format!("  Int {name};")), "\n")),
        ("SIZES_PARAMETERS", all.sizes_parameters()),
        ("SIZES_BODY", sizes_body(operator)),
        ("SHAPES", shapes(operator)),
        ("NUMBERS_AFTER", numbers),
        ("GRID", sizes(&launch.grid)),
        ("BLOCK", sizes(&launch.block)),
        ("SHARED", in_cpp(operator, &launch.shared)),
        ("INPUTS_TYPED", joined(operator.inputs().map(|array| format!("const Tensor& {}", array.name)), ", ")),
        ("CHECK_INPUTS", check_inputs(operator)),
        ("FUNCTIONS", all.functions()),
        ("SCHEMAS", all.schemas()),
        ("IMPL_CPU", all.implementations("<Cpu>", "")),
        ("IMPL_CUDA", all.implementations("<Cuda>", "")),
        ("IMPL_META", all.implementations("", "_meta")),
        ("IMPL_AUTOGRAD", all.autograd()),
        ("SPACE", statement.space.clone()),
        ("NAME", statement.name.clone()),
        ("SOURCE", source.to_owned()),
    ];
    replaced.iter().fold(TEMPLATE.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

fn in_cpp(operator: &Operator<'_>, expression: &Expression) -> String {
    let sizes = operator.size_names();
    expression.cpp(|name| if sizes.contains(&name) { format!("s.{name}") } else { name.to_owned() })
}

fn kernels(operator: &Operator<'_>, device: &str) -> String {
    let space = namespace(operator, device);
    let mut names = vec!["error".to_owned()];
    for scalar in &operator.scalars {
        names.extend(function_names(operator).iter().map(|name| format!("{name}_{}", scalar.name)));
    }
    joined(names.iter().map(|name| format!("  static constexpr auto {name} = {space}::{name};")), "\n")
}

/// Reads the names of sizes off arrays, and compares the others.
fn sizes_body(operator: &Operator<'_>) -> String {
    let mut body = String::new();
    let full = operator.full_name();
    let mut told: Vec<&str> = Vec::new();
    for array in operator.inputs() {
        let (name, count) = (&array.name, array.sizes.len());
        let words = words_of(array);
        let _ = writeln!(
            body,
            "  TORCH_CHECK({name}.dim() == {count}, \"{full}: {name} has \", {name}.dim(), \" dimensions, and is to have {count}: {words}\");"
        );
        for (at, size) in array.sizes.iter().enumerate() {
            if let Some(size) =
                size.as_name().filter(|size| !told.contains(size) && operator.size_names().contains(size))
            {
                told.push(size);
                let _ = writeln!(body, "  s.{size} = shape_of({name}, Int())[{at}];");
            }
        }
    }
    for array in operator.inputs() {
        let (name, words) = (&array.name, words_of(array));
        for (at, size) in array.sizes.iter().enumerate() {
            let size = in_cpp(operator, size);
            let _ = writeln!(
                body,
                "  TORCH_CHECK(shape_of({name}, Int())[{at}] == {size}, \"{full}: {name} has the shape \", {name}.sym_sizes(), \", and is to have {words}, where size {at} is \", {size});"
            );
        }
    }
    body.trim_end().to_owned()
}

fn words_of(array: &Array) -> String {
    joined(array.sizes.iter().map(|size| size.cpp(str::to_owned)), ", ")
}

/// For each result a function that gives its shape.
fn shapes(operator: &Operator<'_>) -> String {
    let numbers = joined(operator.integers().map(|number| format!(", const Int& {}", number.name)), "");
    let shape = |array: &Array| {
        let sizes = joined(array.sizes.iter().map(|size| format!("Int({})", in_cpp(operator, size))), ", ");
        format!(
            "template <class Int>\nstd::vector<Int> shape_of_{}(const Sizes<Int>& s{numbers}) {{\n  return {{{sizes}}};\n}}",
            array.name
        )
    };
    joined(operator.results().map(shape), "\n\n")
}

fn check_inputs(operator: &Operator<'_>) -> String {
    let first = chooses(operator);
    let check = |array: &Array| {
        let ty = array.fixed.map_or_else(|| format!("{first}.scalar_type()"), |aten| format!("at::k{aten}"));
        format!("  check_like({0}, \"{0}\", {ty}, {first});", array.name)
    };
    joined(operator.inputs().map(check), "\n")
}

/// The three operators: the function, its backward, and the backward of that.
struct All<'o> {
    operator: &'o Operator<'o>,
    operators: Vec<One>,
}

/// An operator.
struct One {
    /// In C++ and in the schema.
    name: String,
    /// Tensors and numbers that come in; a number has its kind.
    parameters: Vec<(String, Option<Kind>)>,
    /// What goes out: the name of its variable, and that of the variable or shape that it is like.
    results: Vec<(String, Like)>,
    /// The functions that make memory, and the call.
    body: String,
    /// Which of the parameters have a gradient, as results of the next operator have them.
    differentiable: Vec<String>,
}

/// What a result has the shape of.
#[derive(Clone)]
enum Like {
    /// A parameter.
    Parameter(String),
    /// One of the kernel's results, by its name.
    Result(String),
}

impl<'o> All<'o> {
    fn of(operator: &'o Operator<'o>) -> All<'o> {
        let mut operators = vec![forward(operator), backward(operator)];
        operators.extend(operator.twice.as_ref().map(|_| twice(operator)));
        All { operator, operators }
    }

    fn sizes_parameters(&self) -> String {
        joined(self.operator.inputs().map(|array| format!("const Tensor& {}", array.name)), ", ")
    }

    fn schemas(&self) -> String {
        let schema = |one: &One| {
            let parameters = one.parameters.iter().map(|(name, kind)| match kind {
                None => format!("Tensor {name}"),
                Some(Kind::Int) => format!("SymInt {name}"),
                Some(kind) => format!("{} {name}", kind.names().0),
            });
            let results = joined(one.results.iter().map(|_| "Tensor".to_owned()), ", ");
            let results = if one.results.len() == 1 { results } else { format!("({results})") };
            format!(
                "  library.def(\"{}({}) -> {results}\", {{at::Tag::pt2_compliant_tag}});",
                one.name,
                joined(parameters, ", ")
            )
        };
        joined(self.operators.iter().map(schema), "\n")
    }

    fn implementations(&self, of_device: &str, suffix: &str) -> String {
        let line = |one: &One| format!("  library.impl(\"{0}\", TORCH_FN({0}{suffix}{of_device}));", one.name);
        joined(self.operators.iter().map(line), "\n")
    }

    fn autograd(&self) -> String {
        let line = |one: &One| format!("  library.impl(\"{0}\", TORCH_FN({0}_autograd));", one.name);
        joined(self.operators.iter().map(line), "\n")
    }

    fn functions(&self) -> String {
        let mut text = String::new();
        for one in &self.operators {
            text.push_str(&self.device_function(one));
            text.push_str(&self.meta_function(one));
        }
        text.extend(self.operators.iter().map(typed_call));
        for (at, one) in self.operators.iter().enumerate() {
            text.push_str(&match self.operators.get(at + 1) {
                Some(next) => self.autograd_function(one, next),
                None => last_autograd(self.operator, one),
            });
        }
        text.trim_end().to_owned()
    }

    fn device_function(&self, one: &One) -> String {
        let parameters = typed(one, "int64_t");
        let result = result_type(one);
        format!("template <class Device>\n{result} {}({parameters}) {{\n{}}}\n\n", one.name, one.body)
    }

    fn meta_function(&self, one: &One) -> String {
        let operator = self.operator;
        let sizes = joined(operator.inputs().map(|array| array.name.clone()), ", ");
        let numbers = joined(operator.integers().map(|number| format!(", {}", number.name)), "");
        let mut body = format!("  const auto s = sizes_of<c10::SymInt>({sizes});\n");
        let first = chooses(operator);
        let made = one.results.iter().map(|(_, like)| match like {
            Like::Parameter(name) => format!("at::empty_symint({name}.sym_sizes(), {name}.options())"),
            Like::Result(name) => {
                let array = operator.results().find(|array| array.name == *name);
                let options = array.map_or(String::new(), |array| options(&first, array));
                format!("at::empty_symint(shape_of_{name}<c10::SymInt>(s{numbers}), {options})")
            }
        });
        let made: Vec<String> = made.collect();
        let _ = writeln!(body, "  static_cast<void>(s);\n  return {};", tupled(&made));
        format!("{} {}_meta({}) {{\n{body}}}\n\n", result_type(one), one.name, typed(one, "c10::SymInt"))
    }

    fn autograd_function(&self, one: &One, next: &One) -> String {
        let class = camel(&one.name);
        let tensors: Vec<&str> =
            one.parameters.iter().filter(|(_, kind)| kind.is_none()).map(|(name, _)| name.as_str()).collect();
        let numbers: Vec<&(String, Option<Kind>)> = one.parameters.iter().filter(|(_, kind)| kind.is_some()).collect();
        let given = joined(one.parameters.iter().map(|(name, _)| name.clone()), ", ");
        let mut text = format!("struct {class} : torch::autograd::Function<{class}> {{\n");
        let _ = writeln!(
            text,
            "  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, {}) {{",
            typed(one, "c10::SymInt")
        );
        let _ = writeln!(
            text,
            "    at::AutoDispatchBelowADInplaceOrView guard;\n    context->save_for_backward({{{}}});",
            tensors.join(", ")
        );
        for (name, _) in &numbers {
            let _ = writeln!(text, "    context->saved_data[\"{name}\"] = {name};");
        }
        let call = format!("{}_call({given})", one.name);
        let results = joined((0..one.results.len()).map(|at| format!("std::get<{at}>(results)")), ", ");
        let results = if one.results.len() == 1 { "results".to_owned() } else { results };
        let _ = writeln!(text, "    auto results = {call};");
        let constant = constants(self.operator, one);
        if !constant.is_empty() {
            let _ = writeln!(text, "    context->mark_non_differentiable({{{}}});", constant.join(", "));
        }
        let _ = writeln!(text, "    return {{{results}}};\n  }}\n");
        let _ = writeln!(
            text,
            "  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list cotangents) {{"
        );
        let _ = writeln!(text, "    const auto saved = context->get_saved_variables();");
        // The next operator takes all that this one took, then the cotangents of its results.
        let own = one.parameters.iter().map(|(name, kind)| match kind {
            None => format!("saved[{}]", tensors.iter().position(|tensor| tensor == name).unwrap_or_default()),
            Some(Kind::Int) => format!("context->saved_data[\"{name}\"].toSymInt()"),
            Some(Kind::Float) => format!("context->saved_data[\"{name}\"].toDouble()"),
            Some(Kind::Bool) => format!("context->saved_data[\"{name}\"].toBool()"),
        });
        let incoming = active_results(self.operator, one).into_iter().map(|at| format!("cotangents[{at}]"));
        let _ = writeln!(text, "    auto gradients = {}_call({});", next.name, joined(own.chain(incoming), ", "));
        let of = |name: &str| match one.differentiable.iter().position(|found| found == name) {
            Some(_) if next.results.len() == 1 => "gradients".to_owned(),
            Some(at) => format!("std::get<{at}>(gradients)"),
            None => "Tensor()".to_owned(),
        };
        let gradients = joined(one.parameters.iter().map(|(name, _)| of(name)), ", ");
        let _ = writeln!(text, "    return {{{gradients}}};\n  }}\n}};\n");
        let apply = if one.results.len() == 1 { format!("{class}::apply({given})[0]") } else { String::new() };
        let _ = writeln!(text, "{} {}_autograd({}) {{", result_type(one), one.name, typed(one, "c10::SymInt"));
        if apply.is_empty() {
            let parts = joined((0..one.results.len()).map(|at| format!("results[{at}]")), ", ");
            let _ = writeln!(text, "  auto results = {class}::apply({given});\n  return {{{parts}}};\n}}\n");
        } else {
            let _ = writeln!(text, "  return {apply};\n}}\n");
        }
        text
    }
}

/// The last operator has no gradient, and says so when it is asked for one.
fn last_autograd(operator: &Operator<'_>, one: &One) -> String {
    let given = joined(one.parameters.iter().map(|(name, _)| name.clone()), ", ");
    let tensors =
        one.parameters.iter().filter(|(_, kind)| kind.is_none()).map(|(name, _)| format!("{name}.requires_grad()"));
    let asked = joined(tensors, " || ");
    let (result, name, parameters) = (result_type(one), &one.name, typed(one, "c10::SymInt"));
    let full = format!("{}::{name}", operator.statement.space);
    format!(
        "{result} {name}_autograd({parameters}) {{\n  TORCH_CHECK(!at::GradMode::is_enabled() || !({asked}), \"{full} has no derivative\");\n  at::AutoDispatchBelowADInplaceOrView guard;\n  return {name}_call({given});\n}}\n\n"
    )
}

/// Calls the operator through the dispatcher.
fn typed_call(one: &One) -> String {
    let given = joined(one.parameters.iter().map(|(name, _)| name.clone()), ", ");
    let types = one.parameters.iter().map(|(_, kind)| match kind {
        None => "const Tensor&".to_owned(),
        Some(Kind::Int) => "c10::SymInt".to_owned(),
        Some(kind) => kind.names().1.to_owned(),
    });
    format!(
        "{0} {1}_call({2}) {{\n  static auto operation = c10::Dispatcher::singleton().findSchemaOrThrow(\"@SPACE@::{1}\", \"\").typed<{0}({3})>();\n  return operation.call({given});\n}}\n\n",
        result_type(one),
        one.name,
        typed(one, "c10::SymInt"),
        joined(types, ", ")
    )
}

fn typed(one: &One, integer: &str) -> String {
    let typed = one.parameters.iter().map(|(name, kind)| match kind {
        None => format!("const Tensor& {name}"),
        Some(Kind::Int) => format!("{integer} {name}"),
        Some(kind) => format!("{} {name}", kind.names().1),
    });
    joined(typed, ", ")
}

fn result_type(one: &One) -> String {
    match one.results.len() {
        1 => "Tensor".to_owned(),
        count => format!("std::tuple<{}>", vec!["Tensor"; count].join(", ")),
    }
}

fn tupled(values: &[String]) -> String {
    if let [one] = values { one.clone() } else { format!("{{{}}}", values.join(", ")) }
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    joined(name.split('_').filter(|part| !part.is_empty()).map(word), "")
}

/// Which results have a cotangent.
fn active_results(operator: &Operator<'_>, one: &One) -> Vec<usize> {
    let is_constant = |like: &Like| matches!(like, Like::Result(name) if operator.results().any(|array| array.name == *name && !array.is_active));
    (0..one.results.len()).filter(|at| !is_constant(&one.results[*at].1)).collect()
}

fn constants(operator: &Operator<'_>, one: &One) -> Vec<String> {
    let active = active_results(operator, one);
    (0..one.results.len()).filter(|at| !active.contains(at)).map(|at| format!("std::get<{at}>(results)")).collect()
}

/// The tensor whose type chooses among the versions, and whose device is that of all.
fn chooses(operator: &Operator<'_>) -> String {
    let varies = operator.inputs().find(|array| array.fixed.is_none());
    varies.map(|array| array.name.clone()).unwrap_or_default()
}

/// The type and the device of an array, where the tensor `first` has those of the operator.
fn options(first: &str, array: &Array) -> String {
    let own = array.fixed.map_or(String::new(), |aten| format!(".dtype(at::k{aten})"));
    format!("{first}.options(){own}")
}

/// The parameters that all three have first.
fn own_parameters(operator: &Operator<'_>) -> Vec<(String, Option<Kind>)> {
    let parameters = operator.arguments.iter().filter_map(|argument| match argument {
        Argument::Array(array) => (array.role != Role::Output).then(|| (array.name.clone(), None)),
        Argument::Number(number) => number.value.is_none().then_some((number.name.clone(), Some(number.kind))),
    });
    parameters.collect()
}

/// The beginning of what an operator does: sizes, contiguous tensors, the launch.
fn beginning(operator: &Operator<'_>, body: &mut String) {
    let inputs = joined(operator.inputs().map(|array| array.name.clone()), ", ");
    let numbers = joined(operator.numbers().map(|number| format!(", {}", number.name)), "");
    let first = chooses(operator);
    let _ = writeln!(body, "  check_inputs({inputs});\n  const auto s = sizes_of<int64_t>({inputs});");
    let _ =
        writeln!(body, "  typename Device::Guard guard({first}.device());\n  Launch launch = launch_of(s{numbers});");
    let _ = writeln!(body, "  launch.stream = guard.stream();\n  launch.waits = Device::waits;");
    for array in operator.inputs() {
        let copy = if array.role == Role::InPlace { ".clone()" } else { "" };
        let _ = writeln!(body, "  Tensor {0}_own = {0}.contiguous(){copy};", array.name);
    }
    let integers = joined(operator.integers().map(|number| format!(", {}", number.name)), "");
    for array in operator.arrays().filter(|array| array.role == Role::Output) {
        let _ = writeln!(
            body,
            "  Tensor {0}_own = at::zeros(shape_of_{0}<int64_t>(s{integers}), {1});",
            array.name,
            options(&first, array)
        );
    }
}

/// The arguments of the kernel.
fn own_arguments(operator: &Operator<'_>) -> Vec<String> {
    let argument = |argument: &Argument| match argument {
        Argument::Array(array) => format!("{}_own.data_ptr()", array.name),
        Argument::Number(number) => number_argument(operator, number),
    };
    operator.arguments.iter().map(argument).collect()
}

fn number_argument(operator: &Operator<'_>, number: &Number) -> String {
    let value = number.value.as_ref().map_or_else(|| number.name.clone(), |value| in_cpp(operator, value));
    match number.kind {
        Kind::Int => format!("as_number<{}>({value})", number.ty),
        Kind::Float if number.value.is_some() => format!("static_cast<double>({value})"),
        Kind::Float | Kind::Bool => value,
    }
}

/// Calls the function of the type of data that the tensors have.
fn dispatched(operator: &Operator<'_>, function: &str, arguments: &[String], body: &mut String) {
    let first = chooses(operator);
    let _ = writeln!(body, "  if (!is_empty(launch)) {{\n    switch ({first}.scalar_type()) {{");
    for scalar in &operator.scalars {
        let call = format!("Device::{function}_{}(launch, {})", scalar.name, arguments.join(", "));
        let done = match function {
            "record" => format!("record_bytes = {call};"),
            _ => format!("{{\n        const int code = {call};\n        check(code, Device::error(code));\n      }}"),
        };
        let _ = writeln!(body, "      case at::k{}: {done} break;", scalar.aten);
    }
    let known = joined(operator.scalars.iter().map(|scalar| scalar.name.to_owned()), ", ");
    let full = operator.full_name();
    let _ = writeln!(
        body,
        "      default: TORCH_CHECK(false, \"{full} takes {known}, and not \", {first}.scalar_type());\n    }}\n  }}"
    );
}

fn forward(operator: &Operator<'_>) -> One {
    let mut body = String::new();
    beginning(operator, &mut body);
    dispatched(operator, "forward", &own_arguments(operator), &mut body);
    let results: Vec<String> = operator.results().map(|array| format!("{}_own", array.name)).collect();
    let _ = writeln!(body, "  return {};", tupled(&results));
    let active = operator.inputs().filter(|array| array.is_active);
    let like = |array: &Array| match array.role {
        Role::InPlace => (format!("{}_own", array.name), Like::Parameter(array.name.clone())),
        Role::Input | Role::Output => (format!("{}_own", array.name), Like::Result(array.name.clone())),
    };
    One {
        name: operator.statement.name.clone(),
        parameters: own_parameters(operator),
        results: operator.results().map(like).collect(),
        body,
        differentiable: active.map(|array| array.name.clone()).collect(),
    }
}

/// Makes what a gradient works in, in the order of its extra parameters, and returns what is handed on.
fn extra_arguments(
    extras: &[Extra],
    cotangent: impl Fn(&Of) -> String,
    gradient: impl Fn(&Of) -> String,
    count: impl Fn(&Of) -> String,
) -> Vec<String> {
    let argument = |extra: &Extra| match extra.part {
        Part::Cotangent => format!("{}.data_ptr()", cotangent(&extra.of)),
        Part::Gradient => format!("{}.data_ptr()", gradient(&extra.of)),
        Part::Count => count(&extra.of),
    };
    extras.iter().map(argument).collect()
}

fn check_cotangents(operator: &Operator<'_>, body: &mut String) {
    let full = operator.full_name();
    for array in operator.results().filter(|array| array.is_active) {
        let name = &array.name;
        let _ = writeln!(body, "  check_like(grad_{name}, \"grad_{name}\", {name}_own.scalar_type(), {name}_own);");
        let _ = writeln!(
            body,
            "  TORCH_CHECK(grad_{name}.sizes() == {name}_own.sizes(), \"{full}: the gradient of {name} has the shape \", grad_{name}.sizes());"
        );
        let _ = writeln!(body, "  Tensor grad_{name}_own = grad_{name}.contiguous();");
    }
}

fn name_of(of: &Of) -> &str {
    match of {
        Of::Array(name) => name,
        Of::Adjoint(Own::Sum(name) | Own::Cotangent(name) | Own::Changed(name)) => name,
        Of::Adjoint(Own::Record) => "record",
    }
}

fn backward(operator: &Operator<'_>) -> One {
    let mut body = String::new();
    beginning(operator, &mut body);
    check_cotangents(operator, &mut body);
    let active: Vec<&Array> = operator.inputs().filter(|array| array.is_active).collect();
    for array in &active {
        let _ = writeln!(body, "  Tensor d_{0} = at::empty_like({0}_own);", array.name);
    }
    let mut arguments = own_arguments(operator);
    let cotangent = |of: &Of| format!("grad_{}_own", name_of(of));
    let gradient = |of: &Of| format!("d_{}", name_of(of));
    let is_result_only = |name: &str| operator.arrays().any(|array| array.name == name && array.role == Role::Output);
    let count = |of: &Of| match name_of(of) {
        name if is_result_only(name) => format!("grad_{name}_own.numel()"),
        name => format!("d_{name}.numel()"),
    };
    arguments.extend(extra_arguments(&operator.backward, cotangent, gradient, count));
    zeroed(&active.iter().map(|array| format!("d_{}", array.name)).collect::<Vec<_>>(), &mut body);
    dispatched(operator, "backward", &arguments, &mut body);
    let results: Vec<String> = active.iter().map(|array| format!("d_{}", array.name)).collect();
    let _ = writeln!(body, "  return {};", tupled(&results));
    let mut parameters = own_parameters(operator);
    let cotangents: Vec<String> =
        operator.results().filter(|array| array.is_active).map(|array| format!("grad_{}", array.name)).collect();
    parameters.extend(cotangents.iter().map(|name| (name.clone(), None)));
    let like = |array: &&Array| (format!("d_{}", array.name), Like::Parameter(array.name.clone()));
    let differentiable = active.iter().map(|array| array.name.clone()).chain(cotangents);
    One {
        name: format!("{}_backward", operator.statement.name),
        parameters,
        results: active.iter().map(like).collect(),
        body,
        differentiable: differentiable.collect(),
    }
}

/// Without a block, nothing is written.
fn zeroed(results: &[String], body: &mut String) {
    let clear = joined(results.iter().map(|name| format!("{name}.zero_();")), " ");
    let _ = writeln!(body, "  if (is_empty(launch)) {{ {clear} }}");
}

fn twice(operator: &Operator<'_>) -> One {
    let Some(twice) = &operator.twice else { unreachable!("only asked for where there is one") };
    let mut body = String::new();
    beginning(operator, &mut body);
    check_cotangents(operator, &mut body);
    let active: Vec<&Array> = operator.inputs().filter(|array| array.is_active).collect();
    for array in &active {
        let name = &array.name;
        let _ = writeln!(
            body,
            "  Tensor gg_{name}_own = gg_{name}.contiguous();\n  Tensor d_{name} = at::zeros_like({name}_own), sum_{name} = at::zeros_like({name}_own), none_{name} = at::zeros_like({name}_own), discarded_{name} = at::empty_like({name}_own);"
        );
    }
    let results: Vec<&Array> = operator.results().filter(|array| array.is_active).collect();
    for array in &results {
        let name = &array.name;
        let _ = writeln!(
            body,
            "  Tensor d_grad_{name} = at::zeros_like(grad_{name}_own), changed_{name} = grad_{name}_own.clone(), unused_{name} = at::zeros_like(grad_{name}_own);"
        );
    }
    if twice.has_record() {
        let _ = writeln!(body, "  size_t record_bytes = 0;");
        dispatched(operator, "record", &own_arguments(operator), &mut body);
        let first = chooses(operator);
        let _ = writeln!(
            body,
            "  Tensor record = at::zeros({{static_cast<int64_t>(record_bytes)}}, {first}.options().dtype(at::kByte)), record_after = at::zeros_like(record), d_record = at::zeros_like(record);"
        );
        // Counting runs the function, which may have changed what it works on.
        for array in operator.inputs().filter(|array| array.role == Role::InPlace) {
            let _ = writeln!(body, "  {0}_own.copy_({0});", array.name);
        }
    }
    let mut arguments = own_arguments(operator);
    arguments.extend(twice.own.iter().map(|own| match own {
        Own::Sum(name) => format!("sum_{name}.data_ptr()"),
        Own::Cotangent(name) => format!("grad_{name}_own.data_ptr()"),
        Own::Changed(name) => format!("changed_{name}.data_ptr()"),
        Own::Record => "record.data_ptr()".to_owned(),
    }));
    let cotangent = |of: &Of| match of {
        // Nobody uses what the function leaves there.
        Of::Array(name) => format!("none_{name}"),
        Of::Adjoint(Own::Sum(name)) => format!("gg_{name}_own"),
        Of::Adjoint(Own::Changed(name)) if active.iter().any(|array| array.name == *name) => format!("gg_{name}_own"),
        Of::Adjoint(Own::Cotangent(name) | Own::Changed(name)) => format!("unused_{name}"),
        Of::Adjoint(Own::Record) => "record_after".to_owned(),
    };
    let gradient = |of: &Of| match of {
        Of::Array(name) => format!("d_{name}"),
        // The gradient of what the sum was before, which is zero.
        Of::Adjoint(Own::Sum(name)) => format!("discarded_{name}"),
        Of::Adjoint(Own::Cotangent(name) | Own::Changed(name)) => format!("d_grad_{name}"),
        Of::Adjoint(Own::Record) => "d_record".to_owned(),
    };
    // That of the record in bytes: how large a word is depends on the type of data.
    let count = |of: &Of| format!("{}.numel()", gradient(of));
    arguments.extend(extra_arguments(&twice.extras, cotangent, gradient, count));
    dispatched(operator, "backward_backward", &arguments, &mut body);
    let names: Vec<String> = active
        .iter()
        .map(|array| format!("d_{}", array.name))
        .chain(results.iter().map(|array| format!("d_grad_{}", array.name)))
        .collect();
    let _ = writeln!(body, "  return {};", tupled(&names));
    let mut parameters = own_parameters(operator);
    parameters.extend(results.iter().map(|array| (format!("grad_{}", array.name), None)));
    parameters.extend(active.iter().map(|array| (format!("gg_{}", array.name), None)));
    let of_inputs = active.iter().map(|array| (format!("d_{}", array.name), Like::Parameter(array.name.clone())));
    let of_results =
        results.iter().map(|array| (format!("d_grad_{}", array.name), Like::Parameter(format!("grad_{}", array.name))));
    One {
        name: format!("{}_backward_backward", operator.statement.name),
        parameters,
        results: of_inputs.chain(of_results).collect(),
        body,
        differentiable: Vec::new(),
    }
}
