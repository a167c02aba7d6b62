//! The operator for PyTorch, in C++: its schema, what it does on each device, shapes alone, and autograd; and its Python module.

use std::fmt::Write as _;

use crate::arguments::{Array, Kind, Number, Operand, Operator};
use crate::calls::{Begins, Call, Given, Like, Memory, OfRecord, calls};
use crate::expression::Expression;
use crate::kernels::aliases;
use crate::package::{Tested, dtype, joined, named, words_of};
use crate::version::Scalar;

const TEMPLATE: &str = include_str!("../templates/torch/operator.cpp");
const INIT: &str = include_str!("../templates/torch/init.py");
const TEST: &str = include_str!("../templates/torch/test.py");
/// What `build.py` compiles the operator with.
pub(crate) const FRAMEWORK: &str = include_str!("../templates/torch/framework.py");

const TWICE: &str = "    def test_its_second_derivative_is_that_of_differences(self):
        self.assertTrue(torch.autograd.gradgradcheck(MODULE.@NAME@, inputs()@STEPS@))

";

/// `__init__.py`.
pub(crate) fn init(operator: &Operator<'_>, source: &str) -> String {
    named(operator, INIT).replace("@SOURCE@", source)
}

/// `test_NAME.py`.
pub(crate) fn test(operator: &Operator<'_>) -> String {
    let tested = Tested::of(operator);
    let tensor = |array: &Array| {
        let sizes = tested.sizes(array);
        match array.fixed {
            Some(aten) => format!("torch.ones(({sizes}), dtype=torch.{})", dtype(aten)),
            None => {
                let wants = if array.is_active { ", requires_grad=True" } else { "" };
                format!("torch.rand(({sizes}), dtype=torch.{}{wants})", dtype(tested.scalar.aten))
            }
        }
    };
    let text =
        TEST.replace("@TWICE@", operator.twice.as_ref().map_or("", |_| TWICE)).replace("@STEPS@", steps(tested.scalar));
    named(operator, &tested.fill(&text, "        ", tensor))
}

/// How differences are taken in a type of data, and how near they must be.
fn steps(scalar: Scalar) -> &'static str {
    match scalar.name {
        "double" => "",
        "float" => ", eps=1e-3, atol=1e-2, rtol=1e-2",
        _ => ", eps=0.1, atol=0.1, rtol=0.1",
    }
}

/// `operator.cpp`.
pub(crate) fn text(operator: &Operator<'_>, source: &str) -> String {
    let statement = operator.statement;
    let [grid, block, shared] = operator.launch(|size| in_cpp(operator, size));
    let sizes = |three: &[String]| joined(three.iter().map(|size| format!("as_size({size})")), ", ");
    let all = All::of(operator);
    let numbers = joined(operator.numbers().map(|number| format!(", {} {}", number.kind.names().1, number.name)), "");
    let replaced = [
        ("KERNELS_CPU", aliases(operator, "cpu")),
        ("KERNELS_CUDA", aliases(operator, "cuda")),
        ("SIZE_FIELDS", joined(operator.size_names().iter().map(|name| format!("  Int {name};")), "\n")),
        ("SIZES_PARAMETERS", all.sizes_parameters()),
        ("SIZES_BODY", sizes_body(operator)),
        ("SHAPES", shapes(operator)),
        ("NUMBERS_AFTER", numbers),
        ("GRID", sizes(&grid)),
        ("BLOCK", sizes(&block)),
        ("SHARED", joined(shared.into_iter(), "")),
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

fn in_cpp(operator: &Operator<'_>, expression: &Expression) -> String {
    let sizes = operator.size_names();
    expression.cpp(|name| if sizes.contains(&name) { format!("s.{name}") } else { name.to_owned() })
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
    let first = operator.chooses();
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
    call: Call,
}

impl One {
    fn tensors(&self) -> impl Iterator<Item = &str> {
        self.call.operands.iter().filter(|operand| operand.kind.is_none()).map(|operand| operand.name.as_str())
    }

    fn numbers(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.call.operands.iter().filter_map(|operand| Some((operand.name.as_str(), operand.kind?)))
    }

    fn results(&self) -> impl Iterator<Item = &Memory> {
        self.call.results.iter().map(|name| self.call.memory_of(name))
    }

    /// The operands, as they are handed on.
    fn given(&self) -> String {
        joined(self.call.operands.iter().map(|operand| operand.name.clone()), ", ")
    }
}

impl<'o> All<'o> {
    fn of(operator: &'o Operator<'o>) -> All<'o> {
        let one = |call: Call| One {
            name: match call.name {
                "forward" => operator.statement.name.clone(),
                word => format!("{}_{word}", operator.statement.name),
            },
            call,
        };
        All { operator, operators: calls(operator).into_iter().map(one).collect() }
    }

    fn sizes_parameters(&self) -> String {
        joined(self.operator.inputs().map(|array| format!("const Tensor& {}", array.name)), ", ")
    }

    fn schemas(&self) -> String {
        let schema = |one: &One| {
            let parameters = one.call.operands.iter().map(|Operand { name, kind }| match kind {
                None => format!("Tensor {name}"),
                Some(Kind::Int) => format!("SymInt {name}"),
                Some(kind) => format!("{} {name}", kind.names().0),
            });
            let results = joined(one.results().map(|_| "Tensor".to_owned()), ", ");
            let results = if one.call.results.len() == 1 { results } else { format!("({results})") };
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
        let body = body(self.operator, &one.call);
        format!("template <class Device>\n{result} {}({parameters}) {{\n{body}}}\n\n", one.name)
    }

    fn meta_function(&self, one: &One) -> String {
        let operator = self.operator;
        let sizes = joined(operator.inputs().map(|array| array.name.clone()), ", ");
        let numbers = joined(operator.integers().map(|number| format!(", {}", number.name)), "");
        let mut body = format!("  const auto s = sizes_of<c10::SymInt>({sizes});\n");
        let first = operator.chooses();
        let made = one.results().map(|memory| match &memory.like {
            Like::Operand(name) => format!("at::empty_symint({name}.sym_sizes(), {name}.options())"),
            Like::Result(name) => {
                let options = options(first, operator.result(name));
                format!("at::empty_symint(shape_of_{name}<c10::SymInt>(s{numbers}), {options})")
            }
        });
        let made: Vec<String> = made.collect();
        let _ = writeln!(body, "  static_cast<void>(s);\n  return {};", tupled(&made));
        format!("{} {}_meta({}) {{\n{body}}}\n\n", result_type(one), one.name, typed(one, "c10::SymInt"))
    }

    fn autograd_function(&self, one: &One, next: &One) -> String {
        let class = camel(&one.name);
        let tensors: Vec<&str> = one.tensors().collect();
        let given = one.given();
        let count = one.call.results.len();
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
        for (name, _) in one.numbers() {
            let _ = writeln!(text, "    context->saved_data[\"{name}\"] = {name};");
        }
        let call = format!("{}_call({given})", one.name);
        let results = joined((0..count).map(|at| format!("std::get<{at}>(results)")), ", ");
        let results = if count == 1 { "results".to_owned() } else { results };
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
        let own = one.call.operands.iter().map(|Operand { name, kind }| match kind {
            None => format!("saved[{}]", tensors.iter().position(|tensor| tensor == name).expect("it is one of them")),
            Some(Kind::Int) => format!("context->saved_data[\"{name}\"].toSymInt()"),
            Some(Kind::Float) => format!("context->saved_data[\"{name}\"].toDouble()"),
            Some(Kind::Bool) => format!("context->saved_data[\"{name}\"].toBool()"),
        });
        let incoming = active_results(self.operator, one).into_iter().map(|at| format!("cotangents[{at}]"));
        let _ = writeln!(text, "    auto gradients = {}_call({});", next.name, joined(own.chain(incoming), ", "));
        let of = |name: &str| match one.call.differentiable.iter().position(|found| found == name) {
            Some(_) if next.call.results.len() == 1 => "gradients".to_owned(),
            Some(at) => format!("std::get<{at}>(gradients)"),
            None => "Tensor()".to_owned(),
        };
        let gradients = joined(one.call.operands.iter().map(|operand| of(&operand.name)), ", ");
        let _ = writeln!(text, "    return {{{gradients}}};\n  }}\n}};\n");
        let apply = if count == 1 { format!("{class}::apply({given})[0]") } else { String::new() };
        let _ = writeln!(text, "{} {}_autograd({}) {{", result_type(one), one.name, typed(one, "c10::SymInt"));
        if apply.is_empty() {
            let parts = joined((0..count).map(|at| format!("results[{at}]")), ", ");
            let _ = writeln!(text, "  auto results = {class}::apply({given});\n  return {{{parts}}};\n}}\n");
        } else {
            let _ = writeln!(text, "  return {apply};\n}}\n");
        }
        text
    }
}

/// The last operator has no gradient, and says so when it is asked for one.
fn last_autograd(operator: &Operator<'_>, one: &One) -> String {
    let given = one.given();
    let asked = joined(one.tensors().map(|name| format!("{name}.requires_grad()")), " || ");
    let (result, name, parameters) = (result_type(one), &one.name, typed(one, "c10::SymInt"));
    let full = format!("{}::{name}", operator.statement.space);
    format!(
        "{result} {name}_autograd({parameters}) {{\n  TORCH_CHECK(!at::GradMode::is_enabled() || !({asked}), \"{full} has no derivative\");\n  at::AutoDispatchBelowADInplaceOrView guard;\n  return {name}_call({given});\n}}\n\n"
    )
}

/// Calls the operator through the dispatcher.
fn typed_call(one: &One) -> String {
    let given = one.given();
    let types = one.call.operands.iter().map(|operand| match operand.kind {
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
    let typed = one.call.operands.iter().map(|Operand { name, kind }| match kind {
        None => format!("const Tensor& {name}"),
        Some(Kind::Int) => format!("{integer} {name}"),
        Some(kind) => format!("{} {name}", kind.names().1),
    });
    joined(typed, ", ")
}

fn result_type(one: &One) -> String {
    match one.call.results.len() {
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
    let inactive = |name: &str| operator.results().any(|array| array.name == name && !array.is_active);
    let is_constant = |memory: &Memory| matches!(&memory.like, Like::Result(name) if inactive(name));
    one.results().enumerate().filter(|(_, memory)| !is_constant(memory)).map(|(at, _)| at).collect()
}

fn constants(operator: &Operator<'_>, one: &One) -> Vec<String> {
    let active = active_results(operator, one);
    (0..one.call.results.len()).filter(|at| !active.contains(at)).map(|at| format!("std::get<{at}>(results)")).collect()
}

/// The type and the device of an array, where the tensor `first` has those of the operator.
fn options(first: &str, array: &Array) -> String {
    let own = array.fixed.map_or(String::new(), |aten| format!(".dtype(at::k{aten})"));
    format!("{first}.options(){own}")
}

/// What an operator does on a device: it checks what comes in, makes the memory, launches.
fn body(operator: &Operator<'_>, call: &Call) -> String {
    let mut body = String::new();
    let inputs = joined(operator.inputs().map(|array| array.name.clone()), ", ");
    let numbers = joined(operator.numbers().map(|number| format!(", {}", number.name)), "");
    let first = operator.chooses();
    let _ = writeln!(body, "  check_inputs({inputs});\n  const auto s = sizes_of<int64_t>({inputs});");
    let _ =
        writeln!(body, "  typename Device::Guard guard({first}.device());\n  Launch launch = launch_of(s{numbers});");
    let _ = writeln!(body, "  launch.stream = guard.stream();\n  launch.waits = Device::waits;");
    for memory in &call.memory {
        body.push_str(&made(operator, memory));
    }
    let is_result = |memory: &&Memory| call.results.contains(&memory.name);
    let any = call.memory.iter().filter(|memory| matches!(memory.begins, Begins::Anything)).filter(is_result);
    let clear = joined(any.map(|memory| format!(" {}.zero_();", memory.name)), "");
    if !clear.is_empty() {
        // Without a block, nothing is written.
        let _ = writeln!(body, "  if (is_empty(launch)) {{{clear} }}");
    }
    let arguments: Vec<String> = call.given.iter().map(|given| argument(operator, call, given)).collect();
    if call.has_record {
        let own = &arguments[..operator.arguments.len()];
        let _ = writeln!(body, "  size_t record_bytes = 0;");
        dispatched(operator, "record", own, &mut body);
        let _ = writeln!(
            body,
            "  Tensor record = at::zeros({{static_cast<int64_t>(record_bytes)}}, {first}.options().dtype(at::kByte)), record_after = at::zeros_like(record), d_record = at::zeros_like(record);"
        );
    }
    dispatched(operator, call.name, &arguments, &mut body);
    let _ = writeln!(body, "  return {};", tupled(&call.results));
    body
}

/// Makes memory.
fn made(operator: &Operator<'_>, memory: &Memory) -> String {
    let (name, like) = (&memory.name, memory.like.memory());
    match &memory.begins {
        Begins::Operand(of) if operator.inputs().any(|array| array.name == *of) => {
            format!("  Tensor {name} = {of}.contiguous();\n")
        }
        Begins::Operand(of) => {
            let full = operator.full_name();
            format!(
                "  check_like({of}, \"{of}\", {like}.scalar_type(), {like});\n  TORCH_CHECK({of}.sizes() == {like}.sizes(), \"{full}: {of} has the shape \", {of}.sizes());\n  Tensor {name} = {of}.contiguous();\n"
            )
        }
        Begins::Copy(of) => format!("  Tensor {name} = {of}.clone(at::MemoryFormat::Contiguous);\n"),
        Begins::Zero => match operator.results().find(|array| memory.is_of_result(&array.name)) {
            Some(array) => {
                let integers = joined(operator.integers().map(|number| format!(", {}", number.name)), "");
                let options = options(operator.chooses(), array);
                format!("  Tensor {name} = at::zeros(shape_of_{}<int64_t>(s{integers}), {options});\n", array.name)
            }
            None => format!("  Tensor {name} = at::zeros_like({like});\n"),
        },
        Begins::Anything => format!("  Tensor {name} = at::empty_like({like});\n"),
    }
}

fn argument(operator: &Operator<'_>, call: &Call, given: &Given) -> String {
    match given {
        Given::Memory(name) => format!("{}.data_ptr()", call.memory_of(name).name),
        Given::Count(name) => call.memory_of(name).count(format!("{name}.numel()")),
        Given::Number(name) => number_argument(operator, operator.number(name)),
        Given::Record(OfRecord::Itself) => "record.data_ptr()".to_owned(),
        Given::Record(OfRecord::Cotangent) => "record_after.data_ptr()".to_owned(),
        Given::Record(OfRecord::Gradient) => "d_record.data_ptr()".to_owned(),
        Given::RecordBytes => "record.numel()".to_owned(),
    }
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
    let first = operator.chooses();
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
