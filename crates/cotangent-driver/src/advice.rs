//! What Clang cannot know when it rejects a program: that a header or function is CUDA's and not among those that
//! Cotangent brings, and what to do then.

/// Headers and functions by how their names begin, whose they are, and the package of Python's that has the headers, if they
/// can be read beside ours. The first that fits is taken.
const LIBRARIES: &[(&str, &str, Option<&str>)] = &[
    ("cublas", "cuBLAS", Some("nvidia-cublas")),
    ("cufft", "cuFFT", Some("nvidia-cufft")),
    ("cusparse", "cuSPARSE", Some("nvidia-cusparse")),
    ("cusolver", "cuSOLVER", Some("nvidia-cusolver")),
    ("cudnn", "cuDNN", None),
    ("cutensor", "cuTENSOR", None),
    ("curand", "cuRAND", Some("nvidia-curand")),
    ("nccl", "NCCL", None),
    ("thrust", "Thrust", None),
    ("cub/", "CUB", None),
    ("cub", "CUB", None),
    ("nvtx3/", "NVTX", None),
    ("nvToolsExt", "NVTX", None),
    ("cuda/std/", "libcu++", None),
    ("cuda", "the CUDA toolkit", None),
    ("cu", "the CUDA driver", None),
];

/// Headers that are not CUDA's, whose they are, and how to get them.
const OTHERS: &[(&str, &str, &str)] = &[
    ("omp.h", "OpenMP", "install it, apt install libomp-19-dev"),
    ("mpi.h", "MPI", "install it, apt install libopenmpi-dev"),
    ("helper_", "NVIDIA's samples", "name their folder Common after --: -- -I DIR"),
];

/// How Clang speaks of what it does not find; the name follows, up to `'`.
const MISSING: &[(&str, &str)] = &[
    ("fatal error: '", "' file not found"),
    ("use of undeclared identifier '", "'"),
    ("unknown type name '", "'"),
    ("no member named '", "' in the global namespace"),
];

/// Clang's message, with a line of help if it is about something that is not there and known to be elsewhere.
pub(crate) fn with_advice(message: String) -> String {
    let mut names = message.lines().filter_map(|line| {
        let name_in = |(start, end): &(&str, &str)| Some(line.split_once(start)?.1.split_once(end)?.0);
        MISSING.iter().find_map(name_in)
    });
    let other = names.clone().find_map(|name| {
        let fits = |(beginning, ..): &&(&str, &str, &str)| name.starts_with(beginning) && name.ends_with(".h");
        OTHERS.iter().find(fits).map(|(_, owner, install)| (name, owner, install))
    });
    if let Some((name, owner, install)) = other {
        return format!("{}\nhelp: `{name}` belongs to {owner}; {install}\n", message.trim_end());
    }
    let found = names.find_map(|name| Some((name, owner(name)?)));
    let Some((name, (owner, package))) = found else { return message };
    let install = match package {
        Some(package) if name.ends_with(".h") => format!("install it beside nvcc, pip install {package}, or "),
        Some(_) | None => String::new(),
    };
    format!(
        "{}\nhelp: `{name}` belongs to {owner}, and Cotangent brings only headers of the CUDA runtime and parts of CUB and Thrust; \
         {install}name a toolkit of CUDA 12 or older, --cuda-path DIR, or the folder of the header after --: -- -I DIR\n",
        message.trim_end()
    )
}

/// Whose a header or a function is, and the package that has the headers.
fn owner(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    let fits = |beginning: &str| {
        let rest = name.strip_prefix(beginning)?;
        // `cube` and `current` are anybody's.
        let is_name =
            beginning.len() > 4 || rest.is_empty() || !rest.starts_with(|next: char| next.is_ascii_lowercase());
        is_name.then_some(())
    };
    let found = LIBRARIES.iter().find(|(beginning, ..)| fits(beginning).is_some());
    found.map(|(_, owner, package)| (*owner, *package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cudas_gets_a_line_of_help() {
        for (message, expected) in [
            ("a.cu:1:10: fatal error: 'cublas_v2.h' file not found\n", "`cublas_v2.h` belongs to cuBLAS"),
            ("a.cu:1:10: fatal error: 'thrust/device_vector.h' file not found", "belongs to Thrust"),
            ("a.cu:2:3: error: use of undeclared identifier 'cuInit'", "`cuInit` belongs to the CUDA driver"),
            ("a.cu:2:3: error: use of undeclared identifier 'cudaGraphLaunch'; did you mean 'x'?", "the CUDA toolkit"),
            ("a.cu:2:3: error: unknown type name 'cublasHandle_t'", "belongs to cuBLAS"),
            ("a.cu:1:10: fatal error: 'cusparse.h' file not found", "pip install nvidia-cusparse"),
        ] {
            let text = with_advice(message.to_owned());
            assert!(text.starts_with(message.trim_end()) && text.contains(expected), "{text}");
            assert!(text.contains("--cuda-path DIR"), "{text}");
        }
    }

    #[test]
    fn headers_of_others_come_with_how_to_get_them() {
        for (message, expected) in [
            (
                "a.cu:1:10: fatal error: 'omp.h' file not found\n",
                "belongs to OpenMP; install it, apt install libomp-19-dev",
            ),
            ("a.cu:1:10: fatal error: 'helper_cuda.h' file not found", "belongs to NVIDIA's samples"),
        ] {
            let text = with_advice(message.to_owned());
            assert!(text.starts_with(message.trim_end()) && text.contains(expected), "{text}");
        }
    }

    #[test]
    fn all_else_is_clangs() {
        for message in [
            "a.cu:1:10: fatal error: 'mine.h' file not found\n",
            "a.cu:2:3: error: use of undeclared identifier 'current'\n",
            "a.cu:2:3: error: use of undeclared identifier 'cube'\n",
            "a.cu:2:3: error: expected ';'\n",
        ] {
            assert_eq!(with_advice(message.to_owned()), message);
        }
    }
}
