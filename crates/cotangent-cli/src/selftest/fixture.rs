//! The lines of a fixture that say what is differentiated, how it is called, and what is expected.

/// What a fixture asks for.
#[derive(Debug, Default)]
pub(crate) struct Directives {
    /// `grad: NAME wrt "a, b"`: the function and the parameters.
    pub(crate) function: String,
    pub(crate) wrt: Vec<String>,
    /// `run: NAME<<<grid, block, shared>>>(…)`, as `cotangent check` takes it; a call has no launch. What is refused is
    /// not run.
    pub(crate) launch: Option<String>,
    pub(crate) arguments: String,
    /// `expect:` lines.
    pub(crate) expected: Vec<Expectation>,
    /// `split: a, b`: reverse mode in two functions, between which these arrays may change; `split: nothing` for none.
    pub(crate) split: Option<Vec<String>>,
    /// `rollback: a, b`: arrays that end as they were.
    pub(crate) rolled_back: Vec<String>,
    /// `record-slots: 8`: the size of the record for each thread.
    pub(crate) record_slots: Option<u32>,
    /// `wide-adjoints: yes`: adjoints of arrays of half precision are `float`.
    pub(crate) wide_adjoints: bool,
    /// `forward only:` why there is no reverse mode for it.
    pub(crate) forward_only: Option<String>,
}

/// What is true of the text of the reverse mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// `atomics: N`, or `no atomic`.
    Atomics(usize),
    /// `no record`: no argument for one; local arrays are none.
    NoRecord,
}

/// Reads the directives; a fixture that does not say what is differentiated is an error.
pub(crate) fn parse(text: &str) -> Result<Directives, String> {
    let mut directives = Directives::default();
    for line in text.lines().take_while(|line| line.starts_with("//")) {
        let line = line.trim_start_matches('/').trim();
        let Some((key, value)) = line.split_once(": ") else { continue };
        match key {
            "grad" => {
                let (function, wrt) = value.split_once(" wrt ").ok_or("a line `// grad: NAME wrt \"a, b\"`")?;
                directives.function = function.to_owned();
                let names = wrt.trim_matches('"').split(',');
                directives.wrt = names.map(|name| name.trim().to_owned()).collect();
            }
            "run" => parse_run(value, &mut directives)?,
            "expect" => directives.expected.push(parse_expectation(value)?),
            "split" if value == "nothing" => directives.split = Some(Vec::new()),
            "split" => directives.split = Some(value.split(',').map(|name| name.trim().to_owned()).collect()),
            "record-slots" => directives.record_slots = Some(value.parse().expect("a number of slots")),
            "wide-adjoints" => directives.wide_adjoints = value == "yes",
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

fn parse_expectation(text: &str) -> Result<Expectation, String> {
    match text.split_once(": ") {
        None if text == "no atomic" => Ok(Expectation::Atomics(0)),
        None if text == "no record" => Ok(Expectation::NoRecord),
        Some(("atomics", count)) => count.parse().map(Expectation::Atomics).map_err(|_| format!("atomics: {count}")),
        None | Some(_) => Err(format!("`expect: {text}` is none of `no atomic`, `atomics: N`, `no record`")),
    }
}
