//! The report: plain text, for somebody who gets it by mail and knows nothing about the machine. Two reports of the same
//! programs differ only in what differed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::machine::Facts;
use super::verdict::Verdict;

/// What came of one program.
pub(crate) struct Tried {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) seconds: f64,
    /// What was said while it was built, run and compared.
    pub(crate) said: String,
}

/// More lines than this of one program are not sent.
const LONGEST: usize = 300;

/// How long the report of one program may be before its middle is left out.
const KEPT: usize = LONGEST / 2;

/// The sentence that says it all.
pub(crate) fn sentence(tried: &[Tried], gpu: bool) -> String {
    let place = if gpu { "on the GPU" } else { "with nvcc's PTX executed on the CPU" };
    let wrong = tried.iter().filter(|one| !one.verdict.agrees()).count();
    match (tried.len(), wrong) {
        (1, 0) => format!("The program agrees with the CPU's numbers, {place}."),
        (all, 0) => format!("All {all} programs agree with the CPU's numbers, {place}."),
        (all, wrong) => {
            let counts: Vec<String> =
                kinds(tried).into_iter().map(|(word, count)| format!("{word}: {count}")).collect();
            format!("{wrong} of {all} programs do not agree with the CPU's numbers, {place} ({}).", counts.join(", "))
        }
    }
}

/// How many there are of each kind that does not agree.
fn kinds(tried: &[Tried]) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for one in tried.iter().filter(|one| !one.verdict.agrees()) {
        *kinds.entry(one.verdict.word()).or_insert(0) += 1;
    }
    kinds
}

/// The whole text. `command` is how the test was started.
pub(crate) fn text(command: &str, facts: &Facts, tried: &[Tried], gpu: bool) -> String {
    let mut text = String::from("Cotangent self-test\n===================\n\n");
    text += &sentence(tried, gpu);
    text += "\n\nMachine\n-------\n\n";
    for (what, which) in facts {
        line(&mut text, &format!("{what:<18} {which}"));
    }
    line(&mut text, &format!("{:<18} {command}", "command"));
    text += "\nPrograms\n--------\n\n";
    text +=
        "Each line: the program, whether nvcc's derivatives are those of the CPU and to which relative difference,\n";
    text += "seconds to build and run. Examples compare their own numbers.\n\n";
    let width = tried.iter().map(|one| one.name.len()).max().unwrap_or_default();
    for Tried { name, verdict, seconds, .. } in tried {
        line(&mut text, &format!("{name:<width$}  {:<34} {seconds:>4.0} s", verdict.to_string()));
    }
    let wrong: Vec<&Tried> = tried.iter().filter(|one| !one.verdict.agrees()).collect();
    if !wrong.is_empty() {
        text += "\nWhat did not agree\n------------------\n";
        for Tried { name, verdict, said, .. } in wrong {
            let gpu = if gpu { " --gpu" } else { "" };
            let _ = write!(text, "\n### {name}: {verdict}\n### again: cotangent selftest{gpu} {name}\n\n");
            text += &shortened(said);
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The text without the middle of what is very long.
fn shortened(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    let mut text = String::new();
    if lines.len() <= LONGEST {
        lines.iter().for_each(|said| line(&mut text, said));
        return text;
    }
    lines[..KEPT].iter().for_each(|said| line(&mut text, said));
    line(&mut text, &format!("[{} lines are left out here]", lines.len() - 2 * KEPT));
    lines[lines.len() - KEPT..].iter().for_each(|said| line(&mut text, said));
    text
}

/// The text without what is another in every run or nobody's business: the folder of this run, the home folder.
pub(crate) fn cleaned(said: &str, folder: &str, home: Option<&str>) -> String {
    let mut text = said.replace(&format!("{folder}/"), "");
    if let Some(home) = home.filter(|home| home.len() > 1) {
        text = text.replace(home, "~");
    }
    // Folders for programs have random names.
    let mut parts = text.split(".tmp");
    let mut cleaned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        cleaned += ".tmp";
        cleaned += part.trim_start_matches(|character: char| character.is_ascii_alphanumeric());
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(name: &str, verdict: Verdict, said: &str) -> Tried {
        Tried { name: name.to_owned(), verdict, seconds: 1.6, said: said.to_owned() }
    }

    #[test]
    fn the_report_says_what_happened_where_and_why() {
        let all = [
            tried("first", Verdict::Agrees(Some(2.5e-8)), "a table"),
            tried("second", Verdict::Differs(Some((0.5, 1e-5))), "x[3] is 1\n"),
            tried("third", Verdict::Crashed, &"line\n".repeat(1000)),
        ];
        let facts = vec![("cotangent", "0.1.0".to_owned()), ("runs on", "a GPU".to_owned())];
        let text = text("cotangent selftest --gpu", &facts, &all, true);
        let sentence = "2 of 3 programs do not agree with the CPU's numbers, on the GPU (crashed: 1, differs: 1).";
        for expected in [
            sentence,
            "\nruns on            a GPU\n",
            "\nfirst   agrees to 2.5e-8                      2 s\n",
            "\n### second: differs by 5.0e-1, allowed 1e-5\n### again: cotangent selftest --gpu second\n\nx[3] is 1\n",
            "[700 lines are left out here]",
        ] {
            assert!(text.contains(expected), "{expected}\nis not in\n{text}");
        }
        assert!(!text.contains("a table"), "what agrees needs no text");
        assert_eq!(super::sentence(&all[..1], true), "The program agrees with the CPU's numbers, on the GPU.");
    }

    #[test]
    fn what_differs_in_every_run_is_left_out() {
        let said = "/tmp/run7/fixture/.tmpA1b2C3/nvcc/program.cu(3): error in /users/me/cuda";
        assert_eq!(cleaned(said, "/tmp/run7", Some("/users/me")), "fixture/.tmp/nvcc/program.cu(3): error in ~/cuda");
    }
}
