//! A kernel of 2,000 lines is differentiated in about the time that Clang needs to read it.

use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

/// Far above what it takes (about a second besides Clang), and far below what a quadratic pass would.
const LIMIT: Duration = Duration::from_secs(30);

/// A kernel with a step of each kind in turn, until it has so many lines.
fn kernel(lines: usize) -> String {
    let mut text = "__device__ float act(float a, float b) { return a * tanhf(b) + b; }
__global__ void large(float* u, const float* c, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s0 = u[i];
  float s1 = c[i];
"
    .to_owned();
    let mut number = 2;
    while text.lines().count() < lines - 8 {
        let (last, other) = (number - 1, number - 2);
        let step = match number % 8 {
            0 => format!(
                "  float s{number} = s{last};
  for (int k = 0; k < 4; ++k) {{
    s{number} = s{number} * c[k] + s{other} * 0.1f;
    if (s{number} > 4.0f) s{number} *= 0.5f;
  }}"
            ),
            3 => format!(
                "  float s{number};
  if (s{last} > 0.3f) {{
    s{number} = s{last} * s{other};
  }} else {{
    s{number} = s{other} + 1.0f;
  }}
  u[i] = s{number} * 0.1f + u[i];"
            ),
            5 => format!("  float s{number} = act(s{last}, s{other});"),
            _ => format!("  float s{number} = s{last} * 0.5f + sinf(s{other}) * c[{}];", number % 7),
        };
        writeln!(text, "{step}").expect("text can be written to");
        number += 1;
    }
    text + &format!("  out[i] = s{};\n}}\n", number - 1)
}

#[test]
fn a_kernel_of_2000_lines_is_differentiated_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.cu");
    let text = kernel(2000);
    assert!(text.lines().count() > 1990);
    std::fs::write(&file, &text).expect("the file can be written");
    let run = |words: &[&str]| {
        let start = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_cotangent"))
            .arg(words[0])
            .arg(&file)
            .args(&words[1..])
            .output()
            .expect("the command can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (start.elapsed(), output.stdout.iter().filter(|byte| **byte == b'\n').count())
    };
    let (printing, _) = run(&["print", "--fn", "large"]);
    let (differentiating, lines) = run(&["grad", "--fn", "large"]);
    println!("printing: {printing:.1?}; the derivative, {lines} lines: {differentiating:.1?}");
    assert!(lines > 4000);
    assert!(differentiating < LIMIT, "{differentiating:.1?}");
}
