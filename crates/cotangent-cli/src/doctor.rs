//! `cotangent doctor`: what was found on this machine, and for what is missing the command that installs it.

use anstream::println;
use cotangent_driver::headers::Headers;
use cotangent_driver::parse::can_compile;
use cotangent_driver::tools::{INSTALL_NVCC, find_clang, find_gpus, find_nvcc, toolkit_version};
use cotangent_driver::{Environment, Tools};

use crate::exit;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// What was found out about one thing.
enum Finding {
    Found(String),
    /// Absent, and only some commands want it.
    Absent(String),
    /// Absent, and nothing works without it.
    Missing(String),
}

/// Looks, and prints one line a thing. The exit code says whether anything required is missing.
pub(crate) fn doctor() -> u8 {
    let environment = Environment::of_process();
    let findings = [
        ("Clang 19", clang(&environment)),
        ("C++ library", cpp_library(&environment)),
        ("cache folder", cache(&environment)),
        ("nvcc", nvcc(&environment)),
        ("CUDA headers", cuda_headers(&environment)),
        ("GPU", gpu(&environment)),
    ];
    for (name, finding) in &findings {
        let (mark, text) = match finding {
            Finding::Found(text) => (format!("{GREEN}found  {PLAIN}"), text),
            Finding::Absent(text) => (format!("{YELLOW}absent {PLAIN}"), text),
            Finding::Missing(text) => (format!("{RED}missing{PLAIN}"), text),
        };
        // Further lines stand under the first.
        println!("{name:<13} {mark}  {}", text.replace('\n', &format!("\n{:24}", "")));
    }
    let missing = findings.iter().filter(|(_, finding)| matches!(finding, Finding::Missing(_))).count();
    match missing {
        0 => {
            println!("\nCotangent can work here.");
            exit::SUCCESS
        }
        _ => {
            println!("\nCotangent cannot work here until what is missing is installed.");
            exit::PROGRAM
        }
    }
}

fn clang(environment: &Environment) -> Finding {
    match find_clang(environment) {
        Ok(clang) => Finding::Found(format!("{} ({})", clang.version, clang.path.display())),
        Err(error) => Finding::Missing(error.to_string()),
    }
}

fn cpp_library(environment: &Environment) -> Finding {
    match Tools::find(environment.clone()).map(|tools| can_compile(&tools, "#include <vector>\n#include <cmath>\n")) {
        Ok(Ok(())) => Finding::Found("its headers can be read".to_owned()),
        Ok(Err(_)) => Finding::Missing(
            "Clang cannot read <vector>\nInstall it: sudo apt-get install libstdc++-12-dev   (or your system's like)"
                .to_owned(),
        ),
        Err(_) => Finding::Absent("not tried without Clang".to_owned()),
    }
}

fn cache(environment: &Environment) -> Finding {
    match Headers::materialise(environment) {
        Ok(headers) => Finding::Found(headers.root().parent().unwrap_or(headers.root()).display().to_string()),
        Err(error) => Finding::Missing(format!("{error}\nName another: COTANGENT_CACHE=/some/folder")),
    }
}

fn nvcc(environment: &Environment) -> Finding {
    match find_nvcc(environment) {
        Some(nvcc) => {
            let ptxas = if nvcc.ptxas.is_some() { "" } else { ", without ptxas" };
            Finding::Found(format!("{}{ptxas} ({})", nvcc.version, nvcc.path.display()))
        }
        None => Finding::Absent(format!("needed only to compile for a GPU\n{INSTALL_NVCC}")),
    }
}

fn cuda_headers(environment: &Environment) -> Finding {
    let candidates = [&environment.cuda_home, &environment.usual_toolkit, &environment.cached_toolkit()];
    let found = candidates.into_iter().flatten().find_map(|path| Some((path, toolkit_version(path).ok()?)));
    match found {
        Some((path, version)) => Finding::Found(format!("{version} ({}), for --cuda-path", path.display())),
        None => Finding::Absent("not needed; Cotangent brings its own, and --cuda-path DIR uses others".to_owned()),
    }
}

fn gpu(environment: &Environment) -> Finding {
    let gpus = find_gpus(environment);
    if gpus.is_empty() {
        return Finding::Absent("not needed; `cotangent run` uses the CPU".to_owned());
    }
    let mut lines: Vec<String> = gpus
        .iter()
        .map(|gpu| format!("{}, compute capability {}, driver {}", gpu.name, gpu.compute_capability, gpu.driver))
        .collect();
    lines.push("try it: cotangent selftest --gpu".to_owned());
    Finding::Found(lines.join("\n"))
}
