//! Changed lines with the real nvcc: what the copy includes, what messages and dependency files name.

use std::fs;

use super::*;
use crate::tools::find_nvcc;

/// Includes a header beside it, and one in a folder of `-I`. The request is a mark that the tests replace.
const MAIN: &str = "#include <cotangent/cotangent.hpp>
#include \"beside.h\"
#include \"../other/far.h\"
#include <listed.h>
static __global__ void kernel(float* x) { x[threadIdx.x] = beside() + far() + listed(); }
void launch(float* x) { REQUEST; }
";

struct Project {
    folder: tempfile::TempDir,
    environment: Environment,
    nvcc: String,
}

impl Project {
    fn new() -> Self {
        let environment = Environment::of_process();
        let nvcc = find_nvcc(&environment).expect("run `cargo xtask setup`").path.display().to_string();
        let project = Self { folder: tempfile::tempdir().unwrap(), environment, nvcc };
        project.write("source/my main.cu", MAIN);
        for (path, name) in [("source/beside.h", "beside"), ("other/far.h", "far"), ("include/listed.h", "listed")] {
            project.write(path, &format!("inline __device__ float {name}() {{ return 1; }}\n"));
        }
        project
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The plan for nvcc and these words, with requests replaced by a statement.
    fn plan(&self, words: &[&str], statement: &str) -> Changed {
        let words: Vec<String> = [&self.nvcc, "-arch=sm_80", "-I", &self.path("include")]
            .into_iter()
            .chain(words.iter().copied())
            .map(str::to_owned)
            .collect();
        let answer = |_: &Line, file: &Path| {
            let text = fs::read_to_string(file).unwrap().replace("REQUEST", statement);
            let text = text.replace("#include <cotangent/cotangent.hpp>", "");
            let text = format!("#line 1 \"{}\"\n{text}", file.display());
            Ok(Some(Printed { text, notes: String::new(), metadata: None }))
        };
        match plan_with(&self.environment, &words, answer).unwrap() {
            Plan::Changed(changed) => *changed,
            Plan::Untouched => panic!("the request was not seen"),
        }
    }
}

const LAUNCH: &str = "kernel<<<1, 32>>>(x)";

#[test]
fn copies_see_the_headers_of_their_originals_and_dependencies_name_these() {
    let project = Project::new();
    let [main, object, dependencies] = ["source/my main.cu", "main.o", "main.d"].map(|name| project.path(name));
    let words = ["-MD", "-MT", "target", "-MF", &dependencies, "-x", "cu", "-c", &main, "-o", &object];
    let status = project.plan(&words, LAUNCH).run().unwrap();
    assert!(status.success());
    assert!(Path::new(&object).is_file());
    let text = fs::read_to_string(&dependencies).unwrap();
    assert!(text.starts_with("target : "), "{text}");
    for name in [&main.replace(' ', "\\ "), "beside.h", "far.h", "listed.h"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(!text.contains("cotangent-cc-"), "{text}");
}

#[test]
fn messages_name_the_users_file() {
    let project = Project::new();
    let [main, object] = ["source/my main.cu", "main.o"].map(|name| project.path(name));
    let [mut stdout, mut stderr] = [Vec::new(), Vec::new()];
    let changed = project.plan(&["-c", &main, "-o", &object], "missing(x)");
    let status = changed.run_into(&mut stdout, &mut stderr).unwrap();
    let message = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert!(message.contains("source/my main.cu(6): error: identifier \"missing\" is undefined"), "{message}");
    assert!(!message.contains("cotangent-cc-"), "{message}");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn dependencies_in_no_named_file_are_corrected_too() {
    let project = Project::new();
    let [main, object] = ["source/my main.cu", "main.o"].map(|name| project.path(name));
    assert!(project.plan(&["-MD", "-c", &main, "-o", &object], LAUNCH).run().unwrap().success());
    let text = fs::read_to_string(project.path("main.d")).unwrap();
    assert!(text.contains("source/my\\ main.cu") && !text.contains("cotangent-cc-"), "{text}");
    let mut listed = Vec::new();
    assert!(project.plan(&["-M", &main], LAUNCH).run_into(&mut listed, Vec::new()).unwrap().success());
    let text = String::from_utf8(listed).unwrap();
    assert!(text.contains("source/my\\ main.cu") && !text.contains("cotangent-cc-"), "{text}");
}

#[test]
fn inputs_that_do_not_use_cotangent_are_not_even_read() {
    let project = Project::new();
    project.write("plain.cu", "#include \"source/beside.h\"\n// cotangent::gradient\n");
    let words = [project.nvcc.clone(), "--frobnicate".into(), "-c".into(), project.path("plain.cu")];
    let plan = plan_with(&Environment::default(), &words, |_, file| panic!("{} was read", file.display()));
    assert!(matches!(plan, Ok(Plan::Untouched)));
}

#[test]
fn a_flag_that_is_not_known_is_an_error_where_it_matters() {
    let project = Project::new();
    let words = ["nvcc", "--frobnicate", "-c", &project.path("source/my main.cu")];
    let error = plan(&project.environment, &words, false).err().unwrap();
    assert!(error.to_string().contains("unknown compiler flag `--frobnicate`"), "{error}");
}

const DEPENDS: &str = "#include <cotangent/cotangent.hpp>
__global__ void scale(float* x) {
#if __CUDA_ARCH__ >= 900 && defined(SPECIAL)
  x[threadIdx.x] *= 3.0f;
#else
  x[threadIdx.x] *= 2.0f;
#endif
}
void ask(float* x, float* d) { cotangent::gradient(scale).execute_kernel(1, 32, x, d); }
";

#[test]
fn architectures_that_read_different_programs_are_refused() {
    let project = Project::new();
    project.write("main.cu", DEPENDS);
    let main = project.path("main.cu");
    let both = ["nvcc", "-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-c", &main];
    let answer = |words: &[&str]| plan(&project.environment, words, false).map_err(|error| error.to_string());
    assert!(matches!(answer(&both), Ok(Plan::Changed(_))));
    let error = answer(&[&both[..], &["-DSPECIAL"]].concat()).err().unwrap();
    assert!(error.contains("main.cu is another program for sm_90 than for sm_80"), "{error}");
    let error = answer(&["nvcc", "-arch=all", "-c", &main]).err().unwrap();
    assert!(error.contains("`-arch=all` does not say for which architectures"), "{error}");
}
