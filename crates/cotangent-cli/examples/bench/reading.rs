//! Reading a file with large headers: time against Clang's own dump to nowhere, and memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cotangent_driver::flags::ParseFlags;
use cotangent_driver::parse::{ParseRequest, Pass, dump_command};
use cotangent_driver::{Environment, Tools, program};

use crate::{Figure, Limit, Outcome, input, source};

const ROUNDS: usize = 7;

/// Reads the file once, in this process, and prints the most memory that this took, in kilobytes.
pub(crate) fn read_once() -> Outcome<bool> {
    let tools = Tools::find(Environment::of_process())?;
    let flags = ParseFlags::default();
    // One pass, and what the direct path makes of it.
    program::direct(&tools, &input(&source(), &flags))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    println!("{}", peak.trim().trim_end_matches(" kB"));
    Ok(true)
}

/// Both in child processes, in turn.
pub(crate) fn figures(tools: &Tools) -> Outcome<Vec<Figure>> {
    let flags = ParseFlags::default();
    let file = source();
    let request = ParseRequest::new(&file, Pass::Host, &flags);
    let (mut reading, mut dumping) = (Duration::MAX, Duration::MAX);
    let mut kilobytes: f64 = 0.0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let status = dump_command(tools, &request)?.stdout(Stdio::null()).status()?;
        dumping = dumping.min(start.elapsed());
        if !status.success() {
            return Err("Clang does not read the file".into());
        }
        let start = Instant::now();
        let output = Command::new(std::env::current_exe()?).arg("read").output()?;
        reading = reading.min(start.elapsed());
        kilobytes = kilobytes.max(String::from_utf8_lossy(&output.stdout).trim().parse()?);
    }
    let figure = |what: &str, value, limit| Figure { what: what.to_owned(), value, limit };
    Ok(vec![
        figure("reading <vector>, <iostream>, <cmath>, ms", reading.as_secs_f64() * 1e3, Limit::Unlimited),
        figure("Clang's dump of it to /dev/null, ms", dumping.as_secs_f64() * 1e3, Limit::Unlimited),
        figure("reading against Clang's dump", reading.as_secs_f64() / dumping.as_secs_f64(), Limit::AtMost(1.5)),
        figure("reading, most memory, MB", kilobytes / 1024.0, Limit::AtMost(400.0)),
    ])
}
