//! Reading a program with the real Clang: both passes arrive as trees, and the files they speak of with their texts.

use cotangent::clang::{Ast, Node};
use cotangent_driver::program::{Failure, Input, read, with_deep_stack};
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
