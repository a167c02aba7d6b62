//! Reading a program with the real Clang: both passes arrive as trees, and the files they speak of with their texts.

use cotangent::clang::{Ast, Node};
use cotangent_driver::program::{Failure, Form, Input, print, read, with_deep_stack};
use cotangent_driver::{Blame, Environment, Tools, flags::ParseFlags};

/// Writes a file, reads it, and looks at what was read.
fn with_program<T: Send>(text: &str, look: impl FnOnce(&Ast, &Ast) -> T + Send) -> Result<T, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    std::fs::write(&file, text).unwrap();
    let tools = Tools::find(Environment::of_process()).expect("Clang is installed by `cargo xtask setup`");
    let input = Input { file: &file, flags: &ParseFlags::default(), cuda_path: None, colour: false };
    with_deep_stack(|| read(&tools, &input).map(|passes| look(&passes.host, &passes.device)))
}

fn find<'a>(ast: &'a Ast, name: &str) -> Option<&'a Node> {
    ast.declarations.iter().find(|node| node.data.name.as_deref() == Some(name))
}

#[test]
fn both_passes_are_read_and_the_standard_library_is_not() {
    let text = "#include <vector>\n#include <iostream>\n\
                #ifdef __CUDA_ARCH__\n__device__ void only_device() {}\n#else\nvoid only_host() {}\n#endif\n\
                __global__ void kernel(float* p) { p[threadIdx.x] = 1; }\n\
                int main() { kernel<<<1, 32>>>(nullptr); std::vector<int> v(3); std::cout << v.size(); }\n";
    with_program(text, |host, device| {
        assert!(find(host, "only_host").is_some() && find(host, "only_device").is_none());
        assert!(find(device, "only_device").is_some() && find(device, "only_host").is_none());
        let kernel = find(device, "kernel").unwrap();
        assert_eq!(device.sources.text(kernel.span).map(|text| text.starts_with("__global__ void kernel")), Some(true));
        assert!(host.declarations.len() < 10_000, "{} declarations are kept", host.declarations.len());
    })
    .unwrap();
}

#[test]
fn what_nvcc_includes_by_itself_is_there_if_it_is_used() {
    let text = "float f(float x) { return std::max(std::sin(x), std::numeric_limits<float>::min()) + abs(-2.5f); }\n";
    assert!(with_program(text, |host, _| find(host, "f").is_some()).unwrap());
}

#[test]
fn deeply_nested_code_is_read_or_refused_but_does_not_overflow() {
    // A sum of many terms is a tree of that depth. Clang indents its dump, so that it grows with the square.
    let sum = vec!["x"; 500].join(" + ");
    let text = format!("__device__ float f(float x) {{ return {sum}; }}\n");
    match with_program(&text, |_, device| find(device, "f").is_some()) {
        Ok(found) => assert!(found),
        Err(failure) => assert_eq!(failure.blame(), Blame::Program, "{failure}"),
    }
}

/// Writes a file, and prints a function of it.
fn printed(text: &str, request: &str) -> Result<String, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    std::fs::write(&file, text).unwrap();
    let tools = Tools::find(Environment::of_process()).expect("Clang is installed by `cargo xtask setup`");
    let input = Input { file: &file, flags: &ParseFlags::default(), cuda_path: None, colour: false };
    print(&tools, &input, request, Form::Cuda, None)
}

#[test]
fn a_request_instantiates_what_the_file_does_not() {
    // The last line is a comment without an end, and launches with blanks are edited too.
    let text = "namespace ns {\n\
                template <typename T, int N> __global__ void k(T* x) { x[0] = N; }\n\
                template <typename T> __device__ T on_device(T x) { return x * threadIdx.x; }\n\
                template <typename T> __host__ __device__ T on_both(T x) { return x + x; }\n\
                template <typename T> T on_host(T x) { return x - 1; }\n\
                }\n\
                void launch(float* x) { ns::k<float, 64><< <1, 32>> >(x); }\n\
                // the end";
    for (request, expected) in [
        ("ns::k<float, 128>", "void k_float_128(float* x)"),
        ("k<unsigned long long,2>", "void k_unsigned_long_long_2(unsigned long long* x)"),
        ("ns::on_device<double>", "double on_device_double(double x)"),
        ("on_both<int>", "int on_both_int(int x)"),
        ("ns::on_host<short>", "short on_host_short(short x)"),
    ] {
        match printed(text, request) {
            Ok(text) => assert!(text.contains(expected), "{request}\n{text}"),
            Err(failure) => panic!("{request}\n{failure}"),
        }
    }
}

#[test]
fn template_arguments_that_do_not_fit_are_named() {
    let text = "template <typename T, int N> __global__ void k(T* x) { x[0] = N; }\n";
    for request in ["k<float>", "k<float, 1, 2>", "k<1, float>"] {
        let message = printed(text, request).unwrap_err().to_string();
        assert!(message.contains("C0001") && message.contains(request), "{message}");
        assert!(message.contains("template <typename T, int N>"), "{message}");
    }
    // A type that is not there is Clang's to tell, a template that is not there ours.
    let message = printed(text, "k<Missing, 1>").unwrap_err().to_string();
    assert!(message.contains("undeclared identifier 'Missing'"), "{message}");
    let message = printed(text, "missing<float>").unwrap_err().to_string();
    assert!(message.contains("there is no function `missing<float>`"), "{message}");
}
