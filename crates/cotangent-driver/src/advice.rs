//! What Clang cannot know when it rejects a program: that a header or function is CUDA's and not among those that
//! Cotangent brings, and what to do then.

/// Headers and functions by how their names begin, and whose they are. The first that fits is taken.
const LIBRARIES: &[(&str, &str)] = &[
    ("cublas", "cuBLAS"),
    ("cufft", "cuFFT"),
    ("cusparse", "cuSPARSE"),
    ("cusolver", "cuSOLVER"),
    ("cudnn", "cuDNN"),
    ("cutensor", "cuTENSOR"),
    ("curand", "cuRAND"),
    ("nccl", "NCCL"),
    ("thrust", "Thrust"),
    ("cub/", "CUB"),
    ("cub", "CUB"),
    ("nvtx3/", "NVTX"),
    ("nvToolsExt", "NVTX"),
    ("cuda/std/", "libcu++"),
    ("cuda", "the CUDA toolkit"),
    ("cu", "the CUDA driver"),
];

/// How Clang speaks of what it does not find; the name follows, up to `'`.
const MISSING: &[(&str, &str)] = &[
    ("fatal error: '", "' file not found"),
    ("use of undeclared identifier '", "'"),
    ("unknown type name '", "'"),
    ("no member named '", "' in the global namespace"),
];

/// Clang's message, with a line of help if it is about something of CUDA's that is not there.
pub(crate) fn with_advice(message: String) -> String {
    let found = message.lines().find_map(|line| {
        let name_in = |(start, end): &(&str, &str)| Some(line.split_once(start)?.1.split_once(end)?.0);
        let name = MISSING.iter().find_map(name_in)?;
        Some((name, owner(name)?))
    });
    let Some((name, owner)) = found else { return message };
    format!(
        "{}\nhelp: `{name}` belongs to {owner}, and Cotangent brings only the headers of the CUDA runtime; \
         name a toolkit of CUDA 12 or older, --cuda-path DIR, or the folder of the header after --: -- -I DIR\n",
        message.trim_end()
    )
}

/// Whose a header or a function is.
fn owner(name: &str) -> Option<&'static str> {
    let fits = |beginning: &str| {
        let rest = name.strip_prefix(beginning)?;
        // `cube` and `current` are anybody's.
        let is_name =
            beginning.len() > 4 || rest.is_empty() || !rest.starts_with(|next: char| next.is_ascii_lowercase());
        is_name.then_some(())
    };
    LIBRARIES.iter().find(|(beginning, _)| fits(beginning).is_some()).map(|(_, owner)| *owner)
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
        ] {
            let text = with_advice(message.to_owned());
            assert!(text.starts_with(message.trim_end()) && text.contains(expected), "{text}");
            assert!(text.contains("--cuda-path DIR"), "{text}");
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
