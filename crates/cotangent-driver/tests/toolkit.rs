//! A toolkit's own headers instead of ours: what is printed is the same.

use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{Form, Input, print};
use cotangent_driver::{Environment, Tools};

const PROGRAM: &str = "
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void reduce(const float3* x, float* total) {
  __shared__ float tile[128];
  float3 v = x[blockIdx.x * blockDim.x + threadIdx.x];
  tile[threadIdx.x] = sinf(v.x) + v.y * v.z;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 128; ++i) atomicAdd(total, tile[i]);
  }
}
";

#[test]
fn prints_the_same_with_a_toolkits_own_headers() {
    let environment = Environment::of_process();
    let toolkit = environment.cached_toolkit().unwrap();
    assert!(toolkit.is_dir(), "run `cargo xtask setup`");
    let tools = Tools::find(environment).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    std::fs::write(&file, PROGRAM).unwrap();
    let flags = ParseFlags::default();
    for name in ["saxpy", "reduce"] {
        let [ours, theirs] = [None, Some(toolkit.as_path())].map(|cuda_path| {
            let input = Input { file: &file, flags: &flags, cuda_path, colour: false };
            print(&tools, &input, name, Form::Cuda, None).unwrap_or_else(|failure| panic!("{cuda_path:?}: {failure}"))
        });
        assert_eq!(ours, theirs);
    }
}

#[test]
fn launches_may_have_blanks_in_their_brackets() {
    let tools = Tools::find(Environment::of_process()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.cu");
    let header = "inline void start(float* y) { fill<< <1, 2 >> >(y); }\n";
    std::fs::write(folder.path().join("start.h"), header).unwrap();
    let kernel = "__global__ void fill(float* y) { y[threadIdx.x] = 1; }\n";
    let text = format!("{kernel}#include \"start.h\"\nint main() {{ fill << <1, 2>> > (nullptr); start(nullptr); }}\n");
    std::fs::write(&file, text).unwrap();
    let input = Input { file: &file, flags: &ParseFlags::default(), cuda_path: None, colour: false };
    let direct = cotangent_driver::program::direct(&tools, &input).unwrap();
    assert_eq!(direct.texts.len(), 2);
    for overlay in &direct.texts {
        assert!(overlay.text.contains("::cotangent::launch(fill, "), "{}", overlay.text);
    }
}
