//! A program that asks for derivatives in its own text: it checks them itself on the CPU, what is put in place of its
//! requests compiles with nvcc, and requests that cannot be answered are refused with the reason.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cotangent_driver::flags::{Arch, ParseFlags};
use cotangent_driver::headers::Headers;
use cotangent_driver::nvcc::{NvccRequest, Product};
use cotangent_driver::program::Input;
use cotangent_driver::requests::answered;
use cotangent_driver::{Environment, Tools, nvcc, tools};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api")
}

fn program() -> PathBuf {
    folder().join("program.cu")
}

fn run(file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cotangent")).arg("run").arg(file).args(options).output().unwrap()
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    let flags = ParseFlags::default();
    let tools = Tools::find(Environment::of_process()).unwrap();
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    answered(&tools, &input)
        .map(|answered| answered.map(|answered| answered.text))
        .map_err(|failure| failure.to_string())
}

/// The same for a program that is given by its text.
fn text_for(program: &str) -> Result<Option<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    std::fs::write(folder.path().join("asks.cuh"), ASKS).unwrap();
    std::fs::write(&file, program).unwrap();
    text_of(&file)
}

#[test]
fn the_programs_own_checks_pass() {
    for options in [&[][..], &["--check"], &["--printed"]] {
        let expected = "all derivatives are right, line 215\n";
        assert_eq!(printed(&run(&program(), options)), expected, "{options:?}");
    }
}

#[test]
fn what_is_gathered_is_right_in_launches_of_any_shape() {
    assert_eq!(printed(&run(&folder().join("gathers.cu"), &[])), "192 launches, 0 wrong\n");
}

#[test]
fn frameworks_keep_their_cotangents() {
    let expected = "0 wrong\n0 wrong\narguments 5 and 8 of a derivative are the same array: its derivatives would be counted together\n";
    assert_eq!(printed(&run(&folder().join("frameworks.cu"), &[])), expected);
}

#[test]
fn what_has_no_name_of_its_own_is_differentiated_too() {
    let file = folder().join("shapes.cu");
    let expected = "all derivatives are right, line 134\n";
    assert_eq!(printed(&run(&file, &[])), expected);
    let text = text_of(&file).unwrap().expect("the program asks");
    let include = folder().display().to_string();
    compile(&text, &["-Xcompiler", "-Wall", "-I", &include]).unwrap();

    // The same with the line ends of another system.
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("shapes.cu");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&copy, text.trim_end().replace('\n', "\r\n")).unwrap();
    std::fs::copy(folder().join("shapes.cuh"), scratch.path().join("shapes.cuh")).unwrap();
    assert_eq!(printed(&run(&copy, &[])), expected);
}

#[test]
fn the_winner_is_the_one_that_the_comparison_chose() {
    let file = folder().join("winners.cu");
    assert_eq!(printed(&run(&file, &[])), "all winners are right\n");
    let text = text_of(&file).unwrap().expect("the program asks");
    // Each of the ten searches keeps who won: in the derivative, and in the text that `source()` gives.
    assert_eq!(text.matches("bool m_found = false;").count(), 20);
}

#[test]
fn the_gradient_of_a_softmax_is_as_exact_as_its_closed_form() {
    assert_eq!(printed(&run(&folder().join("softmax.cu"), &[])), "as exact as the closed form\n");
}

#[test]
fn a_block_that_cannot_run_is_reported_before_its_launch() {
    let file = folder().join("limits.cu");
    let too_much = "much shared: `scale_grad` needs 300000 bytes of shared memory for a block, and the device has 232448. \
                    Launch it with less, or with smaller blocks if that is what they depend on\n";
    let all = format!("kernel: ran\nlauncher: ran\nhost: ran\nshared: ran\n{too_much}");
    assert_eq!(printed(&run(&file, &[])), all);

    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.arg("run").arg(&file).env("COTANGENT_CPU_REGISTERS_ALLOW", "64").output().unwrap();
    let refused = |what: &str, kernel: &str| {
        format!(
            "{what}: `{kernel}` cannot run with 128 threads in a block: its registers allow 64. Launch smaller blocks, or \
             give the kernel that it is the derivative of __launch_bounds__(128), which the derivative keeps\n"
        )
    };
    let expected = [
        refused("kernel", "scale_grad"),
        refused("launcher", "iterate_grad"),
        refused("host", "iterate_augmented"),
        "shared: ran\n".to_owned(),
        too_much.to_owned(),
    ];
    assert_eq!(printed(&output), expected.concat());
    compile(&text_of(&file).unwrap().expect("the program asks"), &[]).unwrap();
}

/// What a program that succeeded has printed.
fn printed(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}{stderr}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn derivatives_alone_stand_behind_their_functions() {
    let scratch = tempfile::tempdir().unwrap();
    let mut text = format!("#include \"{}\"\n", folder().join("shapes.cuh").display());
    // The last two need derivatives and copies in common.
    for function in ["modes", "products", "privates", "more_privates"] {
        let header = scratch.path().join(format!("{function}.cuh"));
        let output = Command::new(env!("CARGO_BIN_EXE_cotangent"))
            .args(["grad", "shapes.cuh", "--fn", &format!("lib::{function}"), "-o"])
            .arg(&header)
            .current_dir(folder())
            .output()
            .unwrap();
        assert_eq!(printed(&output), "");
        let derivatives = std::fs::read_to_string(&header).unwrap();
        assert!(derivatives.starts_with("// By Cotangent, from shapes.cuh."), "{derivatives}");
        assert!(!derivatives.contains(&format!("void {function}(")), "{derivatives}");
        text.push_str(&format!("#include \"{}\"\n", header.display()));
    }
    compile(&text, &[]).unwrap();
}

/// Compiles with the real nvcc, warnings as errors.
fn compile(text: &str, words: &[&str]) -> Result<(), String> {
    let environment = Environment::of_process();
    let compiler = tools::find_nvcc(&environment).expect("nvcc is installed by `cargo xtask setup`");
    let headers = Headers::materialise(&environment).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, output) = (folder.path().join("program.cu"), folder.path().join("program.o"));
    std::fs::write(&file, text).unwrap();
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    words.extend(["-I".to_owned(), headers.root().display().to_string()]);
    let archs = [Arch::new(80)];
    let request = NvccRequest {
        file: &file,
        archs: &archs,
        product: Product::Object,
        strict: true,
        words: &words,
        output: &output,
    };
    nvcc::compile(&compiler, &request).map(drop).map_err(|error| error.to_string())
}

#[test]
fn the_answers_compile_with_nvcc_without_a_warning() {
    let text = text_of(&program()).unwrap().expect("the program asks");
    compile(&text, &["-Xcompiler", "-Wall"]).unwrap();
}

#[test]
fn without_the_tool_the_header_says_what_to_do() {
    let text = std::fs::read_to_string(program()).unwrap();
    let error = compile(&text, &[]).unwrap_err();
    assert!(error.contains("cotangent cc nvcc"), "{error}");
}

#[test]
fn a_file_that_asks_for_nothing() {
    assert_eq!(text_for("int main() { return 0; }"), Ok(None));
    let text = text_for("#include <cotangent/cotangent.hpp>\nint main() { return 0; }").unwrap();
    assert!(text.unwrap().starts_with("#define COTANGENT_ANSWERED 1\n#line 1 "));
}

const KERNEL: &str = "#include <cotangent/cotangent.hpp>
__global__ void scale(float* x, float a) { x[threadIdx.x] *= a; }
__device__ float twice(float x) { return x + x; }
";

/// A header that makes a request.
const ASKS: &str = "inline auto of_header() { return cotangent::gradient(scale, \"x\"); }\n";

#[test]
fn one_text_for_one_request() {
    let text = text_for(&format!(
        "{KERNEL}void run(float* x, float* d) {{\n  cotangent::gradient(scale, \"x\").execute_kernel(1, 32, x, 2.0f, d);\n}}\n"
    ));
    let text = text.unwrap().unwrap();
    for expected in [
        "struct cotangent_answer_1 {",
        "#line 4 \"",
        "  (::cotangent_answer_1{}).execute_kernel(1, 32, x, 2.0f, d);\n",
        "[[maybe_unused]] static __global__ void scale_grad_0(float* x, float a, float* __restrict__ _d_x) {",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert_eq!(text.matches("void scale(").count(), 1, "the primal is repeated:\n{text}");
}

#[test]
fn requests_share_what_they_need() {
    let text = text_for(
        "#include <cotangent/cotangent.hpp>
__device__ __noinline__ float wave(float x) { return sinf(x) * x; }
__global__ void one(float* x) { x[threadIdx.x] = wave(x[threadIdx.x]); }
__global__ void two(float* x) { x[threadIdx.x] = wave(wave(x[threadIdx.x])); }
__global__ void both(float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * y[threadIdx.x]; }
void ask(float* x, float* d) {
  cotangent::gradient(one).execute_kernel(1, 1, x, d);
  cotangent::gradient(two).execute_kernel(1, 1, x, d);
  cotangent::gradient(both, \"x, y\").execute_kernel(1, 1, x, x, d, d);
  cotangent::gradient(both, \"y, x\").execute_kernel(1, 1, x, x, d, d);
}
",
    );
    let text = text.unwrap().unwrap();
    let derivatives = text.split("(derivatives)\"").nth(1).unwrap().split("namespace {").next().unwrap();
    assert_eq!(derivatives.matches("float wave_with_slopes(").count(), 1, "{derivatives}");
    assert_eq!(derivatives.matches("void both_grad(").count(), 1, "{derivatives}");
    assert_eq!(derivatives.matches("void both_grad_1(").count(), 1, "{derivatives}");
    compile(&text, &[]).unwrap();
}

#[test]
fn the_wrong_one_of_the_two_says_which_to_use() {
    let ask = |call: &str| {
        let text = text_for(&format!("{KERNEL}{call}\n")).unwrap().unwrap();
        compile(&text, &[]).unwrap_err()
    };
    let error = ask("void run(float* x) { cotangent::gradient(scale, \"x\").execute(x, 2.0f, x); }");
    assert!(
        error.contains("scale is a kernel: call execute_kernel(grid, block, arguments..., adjoints...)"),
        "{error}"
    );
    let error = ask("__global__ void run(float* x) { cotangent::gradient(twice).execute(1.0f); }");
    assert!(error.contains("execute takes the arguments of the function, and one more for each"), "{error}");
    let error = ask("void run(float* x) { cotangent::gradient(scale, \"x\").execute_kernel(1, 32, x, 2.0f); }");
    assert!(error.contains("execute_kernel takes the grid, the block"), "{error}");
}

/// The first line of what is said about a program, and its help.
fn refused(program: &str) -> [String; 2] {
    let said = text_for(&format!("{KERNEL}{program}\n")).unwrap_err();
    let line = |start: &str| said.lines().find_map(|line| line.split_once(start)).map(|(_, rest)| rest.to_owned());
    [line("error").unwrap_or_else(|| said.clone()), line("help: ").unwrap_or_default()]
}

#[test]
fn what_cannot_be_answered_is_refused() {
    for (program, error, help) in [
        (
            "#include \"asks.cuh\"",
            "[C0301]: a request in a header is not answered",
            "ask in the file that is compiled, and pass the object on",
        ),
        (
            "#define ASK cotangent::gradient(scale, \"x\")\nauto g = ASK;",
            "[C0302]: a request in a macro is not answered",
            "write the call out: its place in the text is where the derivative goes",
        ),
        (
            "template <class T> void f(T) { auto g = cotangent::gradient(scale, \"x\"); }",
            "[C0303]: a request in a template is not answered",
            "ask in a function that is no template, and pass the object to the template",
        ),
        (
            "auto f(const char* names) { return cotangent::gradient(scale, names); }",
            "[C0304]: the names of a request are no string literal",
            "write the parameters out, as in \"x, y\": they are needed before the program runs",
        ),
        (
            "auto f(void (*kernel)(float*, float)) { return cotangent::gradient(kernel, \"x\"); }",
            "[C0305]: a request does not name a function",
            "name the function itself, not a pointer to it: its text is differentiated",
        ),
        (
            "auto g = cotangent::gradient(scale, \"b\");",
            "[C0201]: `scale` has no parameter `b`",
            "can be named: x, a; cannot: none",
        ),
        (
            "__global__ void doubled(const float* x, float* y) { *y = 2 * *x; }\nauto g = cotangent::gradient(doubled, \"x\");",
            "[C0214]: nothing that is named is an output of `doubled`",
            "name `y` too: its derivative is the seed",
        ),
        (
            "void scale_grad() {}\nauto g = cotangent::gradient(scale);",
            "[C0205]: `scale_grad` of the derivative cannot be told apart from the program's own",
            "rename what the program calls so; move a variable that is meant out of its class",
        ),
    ] {
        assert_eq!(refused(program), [error, help], "{program}");
    }
}

#[test]
fn a_taken_name_is_shown_at_the_request_that_needs_it() {
    let program = "__global__ void add(float* x) { x[0] += x[0] * x[1]; }
void add_grad() {}
float taken_pushforward(float x) { return 2.0f * x; }
float taken(float x) { return taken_pushforward(x) * x; }
auto fine = cotangent::gradient(scale);
";
    for request in ["cotangent::gradient(add)", "cotangent::pushforward(taken)"] {
        let said = text_for(&format!("{KERNEL}{program}auto shown = {request};\n")).unwrap_err();
        let line = format!("auto shown = {request};");
        assert!(said.contains("error[C0205]") && said.contains(&line), "{said}");
        assert_eq!(said.matches("-->").count(), 1, "{said}");
    }
}
