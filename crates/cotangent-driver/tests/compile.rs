//! Compiling for the CPU with the real Clang: our text lies over the user's file, and everything else of the user's
//! is as it was.

use std::path::PathBuf;

use cotangent_driver::compile::{CpuRequest, Overlay, compile};
use cotangent_driver::{Blame, DriverError, Environment, Tools, flags};

/// A user's folder with a program and a header beside it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program.cu"), "#error the text on disk is not the one to compile\n")
            .unwrap();
        std::fs::write(folder.path().join("beside.h"), "#define BESIDE 1\n").unwrap();
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("program.cu")
    }

    /// Compiles a text in the place of the program; the bytes of the shared object.
    fn compile(&self, text: &str, words: &str, check: bool) -> Result<Vec<u8>, DriverError> {
        let tools = Tools::find(Environment::of_process())?;
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let output = self.folder.path().join("program.so");
        let request = CpuRequest {
            units: &[self.file()],
            texts: &[Overlay { path: self.file(), text: text.to_owned() }],
            flags: &flags::read(&words)?,
            check,
            colour: false,
            output: &output,
        };
        compile(&tools, &request)?;
        Ok(std::fs::read(output).unwrap())
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn our_text_is_compiled_under_the_users_name() {
    let text = "#include \"beside.h\"\nstatic_assert(BESIDE, \"\");\n\
                extern \"C\" const char* place() { return __FILE__ \" unique mark\"; }\nint main() {}\n";
    let project = Project::new();
    let bytes = project.compile(text, "", false).unwrap();
    assert!(contains(&bytes, &format!("{} unique mark", project.file().display())));
}

#[test]
fn errors_are_at_the_users_lines() {
    let error = Project::new().compile("int main() {\n  return\n    missing;\n}\n", "", false).unwrap_err();
    assert_eq!(error.blame(), Blame::Program);
    assert!(error.to_string().contains("program.cu:3:5: error: use of undeclared identifier 'missing'"), "{error}");
}

#[test]
fn the_users_flags_arrive_and_warnings_do_not_stop() {
    let text = "static_assert(N == 4 && __cplusplus == 202002L, \"\");\nint main() { int unused; }\n";
    Project::new().compile(text, "-DN=4 -std=c++20 -Xcompiler -Wall,-Werror -O3 -lm", false).unwrap();
}

#[test]
fn checked_programs_report_their_accesses() {
    let text = "extern \"C\" void touch(int* p) { *p = 1; }\nint main() {}\n";
    let project = Project::new();
    assert!(contains(&project.compile(text, "", true).unwrap(), "__tsan_write4"));
    assert!(!contains(&project.compile(text, "", false).unwrap(), "__tsan_write4"));
}
