//! Every function of the runtime that takes a stream keeps to it: what it does is after all that the stream was asked for
//! before, in front of what comes later, and unordered with other streams. One program has all calls; each is run with the
//! order that it needs and without.
//!
//! A function that is declared with a stream and has no line here fails the test.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use libtest_mimic::{Failed, Trial};

use crate::{Directives, compile, run};

/// A call that touches memory: `touch` adds to `memory` in stream `a` before and after it, and the call is in stream `b`.
struct Touching {
    function: &'static str,
    memory: &'static str,
    call: &'static str,
    /// What is found if `b` does not wait for the first launch; nothing if the call does not touch what is there before.
    before: &'static str,
    /// What is found if the second launch does not wait for `b`.
    after: &'static str,
}

const RACE: &str = "X0206";
const NOTHING: &str = "";

#[rustfmt::skip]
const TOUCHING: &[Touching] = &[
    Touching { function: "cudaMemsetAsync", memory: "x", call: "cudaMemsetAsync(x, 0, bytes, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemset2DAsync", memory: "x", call: "cudaMemset2DAsync(x, bytes / 2, 0, bytes / 4, 2, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemset3DAsync", memory: "x", call: "cudaMemset3DAsync(make_cudaPitchedPtr(x, bytes / 2, bytes / 2, 2), 0, make_cudaExtent(bytes / 4, 2, 1), b)", before: RACE, after: RACE },
    Touching { function: "cudaMemcpyAsync", memory: "x", call: "cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemcpy2DAsync", memory: "x", call: "cudaMemcpy2DAsync(host, bytes / 2, x, bytes / 2, bytes / 4, 2, cudaMemcpyDeviceToHost, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemcpyPeerAsync", memory: "x", call: "cudaMemcpyPeerAsync(x, 0, y, 0, bytes, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemcpyToSymbolAsync", memory: "of_symbol()", call: "cudaMemcpyToSymbolAsync(symbol, host, bytes, 0, cudaMemcpyHostToDevice, b)", before: RACE, after: RACE },
    Touching { function: "cudaMemcpyFromSymbolAsync", memory: "of_symbol()", call: "cudaMemcpyFromSymbolAsync(host, symbol, bytes, 0, cudaMemcpyDeviceToHost, b)", before: RACE, after: RACE },
    Touching { function: "cudaMallocAsync", memory: "x", call: "cudaMallocAsync(&x, bytes, b)", before: NOTHING, after: RACE },
    Touching { function: "cudaFreeAsync", memory: "x", call: "cudaFreeAsync(x, b)", before: RACE, after: "X0102" },
    Touching { function: "cudaMemPrefetchAsync", memory: "managed", call: "cudaMemPrefetchAsync(managed, bytes, 0, b)", before: NOTHING, after: NOTHING },
    Touching { function: "cudaLaunchHostFunc", memory: "managed", call: "cudaLaunchHostFunc(b, function, managed)", before: RACE, after: RACE },
    Touching { function: "cudaStreamAddCallback", memory: "managed", call: "cudaStreamAddCallback(b, callback, managed, 0)", before: RACE, after: RACE },
    Touching { function: "cudaLaunchKernel", memory: "x", call: "cudaLaunchKernel(touch, 1, 32, arguments, 0, b)", before: RACE, after: RACE },
    Touching { function: "cudaStreamDestroy", memory: "x", call: "(launch_in(x, b), cudaStreamDestroy(b))", before: RACE, after: RACE },
];

/// Calls that order what comes after a launch in `a` and a launch in `b`, if they are about the stream that stands first.
const ORDERING: &[(&str, &str, &str, &str)] = &[
    ("cudaStreamSynchronize", "a", "b", "cudaStreamSynchronize(s)"),
    ("cudaStreamQuery", "a", "b", "cudaStreamQuery(s)"),
    ("cudaEventRecord", "a", "b", "(cudaEventRecord(event, s), cudaStreamWaitEvent(b, event))"),
    ("cudaEventRecordWithFlags", "a", "b", "(cudaEventRecordWithFlags(event, s), cudaStreamWaitEvent(b, event))"),
    ("cudaStreamWaitEvent", "b", "a", "(cudaEventRecord(event, a), cudaStreamWaitEvent(s, event))"),
];

/// Declared with a stream, and not called by a program that runs here.
const NOT_CALLED: &[(&str, &str)] = &[
    ("__cudaPushCallConfiguration", "what Clang makes of a launch; `cotangent run` writes the launch itself"),
    ("cudaConfigureCall", "the same before CUDA 9.2"),
    ("cudaLaunchCooperativeKernel", "returns cudaErrorNotSupported"),
];

/// Two streams, and whether what is done in the first and then in the second is in order.
const PAIRS: &[(&str, &str, bool)] = &[
    ("0", "blocking", true),
    ("cudaStreamLegacy", "blocking", true),
    ("0", "cudaStreamLegacy", true),
    ("0", "a", false),
    ("blocking", "a", false),
    ("blocking", "other", false),
    ("cudaStreamPerThread", "0", true),
    ("cudaStreamPerThread", "cudaStreamPerThread", true),
    ("cudaStreamPerThread", "blocking", false),
    ("cudaStreamPerThread", "a", false),
    ("priority", "0", false),
];

/// What the host does with `managed` or `pinned` memory after work in stream `a`, and whether it may.
const HOST: &[(&str, bool)] = &[
    ("launch_in(managed, a); managed[0] = 1", false),
    ("launch_in(managed, 0); use(managed[0])", false),
    ("launch_in(managed, a); cudaStreamSynchronize(a); managed[0] = 1", true),
    ("launch_in(managed, a); cudaStreamSynchronize(b); managed[0] = 1", false),
    ("launch_in(managed, a); cudaDeviceSynchronize(); use(managed[0])", true),
    ("launch_in(managed, a); cudaEventRecord(event, a); cudaEventSynchronize(event); use(managed[0])", true),
    ("managed[0] = 1; launch_in(managed, a)", true),
    ("cudaMemcpyAsync(pinned, x, bytes, cudaMemcpyDeviceToHost, a); use(pinned[0])", false),
    ("cudaMemcpyAsync(pinned, x, bytes, cudaMemcpyDeviceToHost, a); cudaStreamSynchronize(a); use(pinned[0])", true),
    ("cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, a); use(pinned[0])", true),
    ("cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, a); pinned[0] = 1", false),
    ("cudaMemcpy(pinned, x, bytes, cudaMemcpyDeviceToHost); use(pinned[0])", true),
    ("cudaMemset(managed, 0, bytes); use(managed[0])", true),
    ("cudaMemsetAsync(managed, 0, bytes); use(managed[0])", false),
    ("cudaLaunchHostFunc(a, function, managed); use(managed[0])", false),
    ("cudaMemPrefetchAsync(managed, bytes, 0, a); use(managed[0])", true),
];

const PRELUDE: &str = r#"
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>
#include <string.h>

constexpr size_t count = 32, bytes = count * sizeof(float);
__device__ float symbol[count];

__global__ void touch(float* memory) { memory[threadIdx.x] += 1; }
void launch_in(float* memory, cudaStream_t stream) { ::cotangent::launch(touch, 1, count, 0, stream)(memory); }
float* of_symbol() {
  void* address = nullptr;
  cudaGetSymbolAddress(&address, symbol);
  return static_cast<float*>(address);
}
void function(void* data) { static_cast<float*>(data)[0] += 1; }
void callback(cudaStream_t, cudaError_t, void* data) { function(data); }
void use(volatile float& value) { (void)value; }
int answer(cudaError_t error) {
  printf("%s\n", cudaGetErrorName(error));
  return 0;
}

int main(int, char** words) {
  float *x, *y, *managed, *pinned, host[count] = {};
  cudaStream_t a, b, blocking, other, priority;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaStreamCreate(&blocking), cudaStreamCreateWithFlags(&other, cudaStreamDefault);
  cudaStreamCreateWithPriority(&priority, cudaStreamNonBlocking, 0);
  cudaEventCreate(&event);
  cudaMalloc(&x, bytes), cudaMalloc(&y, bytes), cudaMallocManaged(&managed, bytes), cudaMallocHost(&pinned, bytes);
  cudaMemset(x, 0, bytes), cudaMemset(y, 0, bytes), cudaMemset(managed, 0, bytes);
  cudaDeviceSynchronize();
  void* arguments[] = {&x};
  (void)arguments, (void)host, (void)pinned;
  const char* row = words[1];
  const bool before = strcmp(words[2], "before") != 0, after = strcmp(words[2], "after") != 0;
  const bool is_destroyed = strcmp(words[2], "destroyed") == 0;
"#;

/// One run: the arguments, what is found, and the name of the error that the call returns.
struct Case {
    row: String,
    mode: &'static str,
    finding: &'static str,
}

/// The tests of streams.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("streams_are_kept_to", || all_cases().map_err(Failed::from)),
        Trial::test("every_function_with_a_stream_is_tested", || coverage().map_err(Failed::from)),
    ]
}

fn all_cases() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (text, cases) = program();
    let (source, object) = (folder.path().join("streams.cpp"), folder.path().join("streams.so"));
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    compile(&source, &object, true, false)?;
    let mut problems = Vec::new();
    for Case { row, mode, finding } in &cases {
        let arguments = vec![row.clone(), (*mode).to_owned()];
        let directives = Directives { check: true, threads: 1, arguments, ..Directives::default() };
        let (stdout, stderr, code) = run(&object, &directives, folder.path())?;
        let is_as_expected = match *finding {
            NOTHING => stderr.is_empty() && code == 0,
            code_of_finding => stderr.contains(code_of_finding),
        };
        let answer = if *mode == "destroyed" { "cudaErrorInvalidResourceHandle" } else { "cudaSuccess" };
        if !is_as_expected || stdout.trim() != answer {
            problems.push(format!("`{row}`, {mode}: expected `{finding}` and {answer}\n{stdout}{stderr}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// The program with all rows, and how it is run.
fn program() -> (String, Vec<Case>) {
    let mut text = String::from(PRELUDE);
    let mut cases = Vec::new();
    let mut case = |row: &str, mode, finding| cases.push(Case { row: row.to_owned(), mode, finding });
    let mut line = |condition: &str, body: String| {
        writeln!(text, "  if (strcmp(row, {condition:?}) == 0) {{\n    {body}\n  }}").expect("to a string");
    };
    for Touching { function, memory, call, before, after } in TOUCHING {
        line(
            function,
            format!(
                "if (is_destroyed) return cudaStreamDestroy(b), answer({call});\n    \
                 launch_in({memory}, a);\n    \
                 if (before) cudaEventRecord(event, a), cudaStreamWaitEvent(b, event);\n    \
                 const cudaError_t error = {call};\n    \
                 if (after) cudaEventRecord(event, b), cudaStreamWaitEvent(a, event);\n    \
                 if (strcmp(row, \"cudaFreeAsync\") != 0 || !after) launch_in({memory}, a);\n    \
                 return answer(error);"
            ),
        );
        let is_destroy = *function == "cudaStreamDestroy";
        case(function, "before", before);
        case(function, "after", after);
        // A stream that is given up cannot be waited for.
        case(function, if is_destroy { "after" } else { "ordered" }, if is_destroy { RACE } else { NOTHING });
        case(function, "destroyed", NOTHING);
    }
    for (function, right, wrong, call) in ORDERING {
        line(
            function,
            format!(
                "const cudaStream_t s = before ? {right} : {wrong};\n    \
                 if (is_destroyed) return cudaStreamDestroy({right}), answer({call});\n    \
                 launch_in(x, a);\n    \
                 const cudaError_t error = {call};\n    \
                 launch_in(x, b);\n    return answer(error);"
            ),
        );
        case(function, "before", RACE);
        case(function, "ordered", NOTHING);
    }
    for (first, second, is_ordered) in PAIRS {
        for (one, two) in [(first, second), (second, first)] {
            let name = format!("{one} and {two}");
            line(&name, format!("launch_in(x, {one});\n    launch_in(x, {two});\n    return answer(cudaSuccess);"));
            case(&name, "ordered", if *is_ordered { NOTHING } else { RACE });
        }
    }
    for (body, is_allowed) in HOST {
        line(body, format!("{body};\n    return answer(cudaSuccess);"));
        case(body, "ordered", if *is_allowed { NOTHING } else { "X0207" });
    }
    text += "  return 1;\n}\n";
    (text, cases)
}

fn coverage() -> Result<(), String> {
    let known = TOUCHING.iter().map(|row| row.function).chain(ORDERING.iter().map(|row| row.0));
    let known: BTreeSet<&str> = known.chain(NOT_CALLED.iter().map(|row| row.0)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/parse/cotangent");
    let mut declared = BTreeSet::new();
    for file in ["runtime_api.h", "textures.h", "system.h"] {
        let text = std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())?;
        let names = text.split([';', '{', '}']).filter(|text| text.contains("cudaStream_t ")).filter_map(name_of);
        declared.extend(names.map(str::to_owned));
    }
    let untested: Vec<&String> = declared.iter().filter(|name| !known.contains(name.as_str())).collect();
    let unknown: Vec<&&str> = known.iter().filter(|name| !declared.contains(**name)).collect();
    match untested.is_empty() && unknown.is_empty() {
        true => Ok(()),
        false => Err(format!("not tested: {untested:?}; not declared: {unknown:?}")),
    }
}

/// The function that a declaration declares; a call has no type in front of a stream.
fn name_of(declaration: &str) -> Option<&str> {
    let (front, _) = declaration.split_once('(')?;
    front.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()
}
