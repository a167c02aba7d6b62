//! Parsing with the real Clang: the dump arrives, errors stop, a toolkit's own headers can be used.

use std::path::{Path, PathBuf};

use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::parse::{ParseRequest, Pass, dump};
use cotangent_driver::{Blame, DriverError, Environment, Tools};

fn tools() -> Tools {
    Tools::find(Environment::of_process()).expect("Clang is installed by `cargo xtask setup`")
}

/// Writes a file and parses it; the dump as text.
fn parse(text: &str, pass: Pass, words: &str, cuda_path: Option<&Path>) -> Result<String, DriverError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    std::fs::write(&file, text).unwrap();
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let flags: ParseFlags = flags::read(&words)?;
    let mut bytes = Vec::new();
    let request = ParseRequest { cuda_path, whole_library: true, ..ParseRequest::new(&file, pass, &flags) };
    dump(&tools(), &request, &mut |piece| bytes.extend_from_slice(piece))?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// The toolkit with CUDA 12.4 headers that `cargo xtask setup` lays out.
fn toolkit() -> PathBuf {
    let toolkit = Environment::of_process().cached_toolkit().unwrap();
    assert!(toolkit.is_dir(), "run `cargo xtask setup`");
    toolkit
}

const LAUNCH: &str = "
__global__ void fill(int n, float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1; }
int main() { float* y; cudaMalloc(&y, 400); fill<<<1, 128>>>(100, y); return 0; }
";

#[test]
fn both_passes_dump_a_launch() {
    for pass in [Pass::Host, Pass::Device] {
        let dump = parse(LAUNCH, pass, "", None).unwrap();
        assert!(dump.contains("CUDAKernelCallExpr") && dump.contains("CUDAGlobalAttr"), "{pass:?}");
        assert!(dump.trim_end().ends_with('}'), "the dump is whole");
    }
}

#[test]
fn the_passes_and_the_architecture_are_visible_to_the_text() {
    let text = "#ifdef __CUDA_ARCH__\nint seen[__CUDA_ARCH__];\n#else\nint host_only;\n#endif";
    assert!(parse(text, Pass::Host, "", None).unwrap().contains("host_only"));
    assert!(parse(text, Pass::Device, "", None).unwrap().contains("int[800]"));
    assert!(parse(text, Pass::Device, "-arch=sm_90a", None).unwrap().contains("int[900]"));
    // Newer than anything that this Clang knows.
    assert!(parse(text, Pass::Device, "-arch=sm_120", None).unwrap().contains("int[1200]"));
}

#[test]
fn the_users_flags_arrive() {
    let text = "static_assert(__cplusplus == 202002L && WIDTH == 4, \"\"); int here;";
    assert!(parse(text, Pass::Host, "-std=c++20 -DWIDTH=4 -O3 -lineinfo", None).unwrap().contains("here"));
}

#[test]
fn an_error_of_clang_stops_with_its_message() {
    let error = parse("int main() { return missing; }", Pass::Host, "", None).unwrap_err();
    assert_eq!(error.blame(), Blame::Program);
    let message = error.to_string();
    assert!(message.contains("program.cu:1:21: error: use of undeclared identifier 'missing'"), "{message}");
}

#[test]
fn a_toolkits_own_headers_can_be_used() {
    let text =
        format!("#include <curand_kernel.h>\n__device__ void f(curandState* s) {{ curand_uniform(s); }}\n{LAUNCH}");
    for pass in [Pass::Host, Pass::Device] {
        let dump = parse(&text, pass, "", Some(&toolkit())).unwrap();
        assert!(dump.contains("CUDAKernelCallExpr") && dump.contains("curandStateXORWOW"), "{pass:?}");
    }
}

#[test]
fn a_toolkit_that_clang_cannot_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = parse(LAUNCH, Pass::Host, "", Some(folder.path())).unwrap_err();
    assert!(matches!(error, DriverError::NotAToolkit { .. }), "{error}");
    std::fs::create_dir(folder.path().join("include")).unwrap();
    std::fs::write(folder.path().join("include/cuda_runtime.h"), "").unwrap();
    std::fs::write(folder.path().join("include/cuda.h"), "#define CUDA_VERSION 13000\n").unwrap();
    let error = parse(LAUNCH, Pass::Host, "", Some(folder.path())).unwrap_err();
    assert!(matches!(&error, DriverError::ToolkitTooNew { version, .. } if version == "13.0"), "{error}");
}
