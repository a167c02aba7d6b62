//! The time to differentiate a function is linear in its length: a function four times as long takes about four times as long,
//! and sixteen times if a pass is quadratic. The time is that of the processor, so that what else runs does not matter.

use std::fmt::Write as _;
use std::fs;

use cotangent::emit::{Dialect, emit};
use cotangent::ir::text;
use cotangent::transform::{Request, reverse};
use cotangent_driver::program::with_deep_stack;

/// Between four and sixteen.
const MOST: f64 = 8.0;

/// The nanoseconds that this thread has run.
fn processor_time() -> u64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells how long a thread has run");
    told.split_whitespace().next().and_then(|number| number.parse().ok()).expect("the first number is that")
}

/// A kernel with so many statements, most with a variable each: products, sums of one place, branches, small arrays, loops.
fn kernel(statements: usize) -> String {
    let mut out = "kernel k(x: const double*, y: double*, n: int, a: double) {\n".to_owned();
    let mut before = "a".to_owned();
    for number in 0..statements / 8 {
        let _ = writeln!(
            out,
            "  let p{number}: double = ({before} * x[{place}]);
  let q{number}: double = (p{number} + a);
  let r{number}: double = sin(q{number});
  if (q{number} > 0.5) {{
    r{number} = (q{number} * p{number});
  }}
  y[{place}] = (r{number} * y[{place}]);
  let v{number}: double = (r{number} + (q{number} * 0.5));",
            place = number % 50
        );
        if number % 16 == 0 {
            let _ = writeln!(
                out,
                "  for k{number}: int = 0; k{number} < n; k{number} += 1 {{
    v{number} = (v{number} + (x[k{number}] * p{number}));
  }}"
            );
        }
        before = format!("v{number}");
    }
    let _ = write!(out, "  y[0] = {before};\n}}");
    out
}

/// How long the thread runs to differentiate it and print that.
fn time(statements: usize) -> u64 {
    let source = kernel(statements);
    let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let function = module.function("k").expect("the kernel");
    let request = Request::new(&module, function, None).expect("all can be named");
    let start = processor_time();
    let derivative = reverse(&module, &request).unwrap_or_else(|found| panic!("{found:?}"));
    let printed = emit(&derivative, Dialect::Cuda);
    let end = processor_time();
    assert!(printed.lines().count() > statements, "{statements} statements have more in their derivative");
    end - start
}

#[test]
fn four_times_the_statements_take_four_times_the_time() {
    let shortest = |statements: usize| (0..2).map(|_| time(statements)).min().unwrap_or(0);
    let times = with_deep_stack(|| Ok([1000, 4000].map(shortest)));
    let Ok([short, long]) = times else { panic!("the thread ended early") };
    let ratio = long as f64 / short as f64;
    assert!(ratio < MOST, "{ratio:.1} times: {} ms and {} ms", short / 1_000_000, long / 1_000_000);
}
