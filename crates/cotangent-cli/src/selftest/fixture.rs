//! The lines of a fixture that say what is differentiated and how it is called. The tests of the fixtures read this file
//! too.

use cotangent::transform::RecordBudget;

use super::spelling;

/// What a fixture asks for.
#[derive(Debug, Default)]
pub(crate) struct Directives {
    /// `grad: NAME wrt "a, b"`: the function and the parameters.
    pub(crate) function: String,
    pub(crate) wrt: Vec<String>,
    /// `of: a, b`: variables of a host function that are its outputs.
    pub(crate) of: Vec<String>,
    /// `run: NAME<<<grid, block, shared>>>(…)`, as `cotangent check` takes it; a call has no launch. What is refused is
    /// not run.
    pub(crate) launch: Option<String>,
    pub(crate) arguments: String,
    /// `split: a, b`: reverse mode in two functions, between which these arrays may change; `split: nothing` for none.
    pub(crate) split: Option<Vec<String>>,
    /// `rollback: a, b`: arrays that end as they were.
    pub(crate) rolled_back: Vec<String>,
    /// `record-slots: 8`: the size of the record for each thread.
    pub(crate) record_slots: Option<u32>,
    /// `record-budget: 0.25`: the bytes that may be recorded for an iteration.
    pub(crate) record_budget: Option<RecordBudget>,
    /// `checkpoint: yes`: loops of the host are run again from checkpoints.
    pub(crate) is_checkpointed: bool,
    /// `wide-adjoints: yes`: adjoints of arrays of half precision are `float`.
    pub(crate) wide_adjoints: bool,
    /// `deterministic: yes`: the same bits at every run.
    pub(crate) is_deterministic: bool,
    /// `pure: yes`: cotangents stay as they are, and gradients are written.
    pub(crate) is_pure: bool,
    /// `forward only:` why there is no reverse mode for it.
    pub(crate) forward_only: Option<String>,
}

/// The keys of directives. What is expected of a gradient's text is for the tests of the fixtures.
const KEYS: [&str; 13] = [
    "grad",
    "of",
    "run",
    "split",
    "rollback",
    "record-slots",
    "record-budget",
    "checkpoint",
    "wide-adjoints",
    "deterministic",
    "pure",
    "forward only",
    "expect",
];

/// The lines of a fixture that are directives, as keys and values; a misspelt one is an error.
pub(crate) fn lines(text: &str) -> Result<Vec<(&str, &str)>, String> {
    spelling::directives(text, &KEYS)
}

/// Reads the directives; a fixture that does not say what is differentiated is an error.
pub(crate) fn parse(text: &str) -> Result<Directives, String> {
    let mut directives = Directives::default();
    for (key, value) in lines(text)? {
        match key {
            "grad" => {
                let (function, wrt) = value.split_once(" wrt ").ok_or("a line `// grad: NAME wrt \"a, b\"`")?;
                directives.function = function.to_owned();
                let names = wrt.trim_matches('"').split(',');
                directives.wrt = names.map(|name| name.trim().to_owned()).collect();
            }
            "of" => directives.of = value.split(',').map(|name| name.trim().to_owned()).collect(),
            "run" => parse_run(value, &mut directives)?,
            "split" if value == "nothing" => directives.split = Some(Vec::new()),
            "split" => directives.split = Some(value.split(',').map(|name| name.trim().to_owned()).collect()),
            "record-slots" => {
                directives.record_slots = Some(value.parse().map_err(|_| format!("record-slots: {value}"))?)
            }
            "record-budget" => directives.record_budget = Some(value.parse()?),
            "checkpoint" if value == "yes" => directives.is_checkpointed = true,
            "checkpoint" => return Err(format!("`checkpoint: {value}` is not `checkpoint: yes`")),
            "wide-adjoints" if value == "yes" => directives.wide_adjoints = true,
            "wide-adjoints" => return Err(format!("`wide-adjoints: {value}` is not `wide-adjoints: yes`")),
            "deterministic" if value == "yes" => directives.is_deterministic = true,
            "deterministic" => return Err(format!("`deterministic: {value}` is not `deterministic: yes`")),
            "pure" if value == "yes" => directives.is_pure = true,
            "pure" => return Err(format!("`pure: {value}` is not `pure: yes`")),
            "rollback" => directives.rolled_back = value.split(',').map(|name| name.trim().to_owned()).collect(),
            "forward only" => directives.forward_only = Some(value.to_owned()),
            _ => {}
        }
    }
    if directives.function.is_empty() {
        return Err("a fixture needs a line `// grad: NAME wrt \"a, b\"`".to_owned());
    }
    Ok(directives)
}

impl Directives {
    /// The words for `cotangent check` after the file's name.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("--fn={}", self.function),
            format!("--wrt={}", self.wrt.join(",")),
            format!("--args={}", self.arguments),
        ];
        words.extend(self.of.iter().map(|name| format!("--of={name}")));
        words.extend(self.launch.iter().map(|launch| format!("--launch={launch}")));
        if let Some(saved) = &self.split {
            words.push("--split".to_owned());
            words.extend(saved.iter().map(|name| format!("--save={name}")));
        }
        words.extend(self.rolled_back.iter().map(|name| format!("--rollback={name}")));
        words.extend(self.wide_adjoints.then(|| "--wide-adjoints".to_owned()));
        words.extend(self.is_deterministic.then(|| "--deterministic".to_owned()));
        words.extend(self.is_pure.then(|| "--pure".to_owned()));
        words.extend(self.record_slots.iter().map(|slots| format!("--record-slots={slots}")));
        words.extend(self.record_budget.iter().map(|budget| format!("--record-budget={budget}")));
        words.extend(self.is_checkpointed.then(|| "--checkpoint".to_owned()));
        words.extend(self.forward_only.iter().map(|_| "--mode=forward".to_owned()));
        words
    }
}

fn parse_run(text: &str, directives: &mut Directives) -> Result<(), String> {
    if let Some((_, rest)) = text.split_once("<<<") {
        let (config, arguments) = rest.split_once(">>>").ok_or("a launch without `>>>`")?;
        // `dim3(2, 2), 8` is `2,2x8`.
        let mut launch = String::new();
        let mut depth = 0;
        for character in config.replace("dim3", "").chars() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => launch.push('x'),
                ' ' => {}
                other => launch.push(other),
            }
        }
        directives.launch = Some(launch);
        directives.arguments = arguments.trim().to_owned();
    } else {
        let open = text.find('(').ok_or("a call without arguments")?;
        directives.arguments = text[open..].trim().to_owned();
    }
    Ok(())
}
