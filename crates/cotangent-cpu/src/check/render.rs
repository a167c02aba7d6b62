//! Findings as text for a person, with the source lines where the files can be read.

use std::collections::HashMap;
use std::fmt::Write;

use super::Checker;
use super::code::{Code, Severity};
use super::finding::{Actor, Event, Finding, LaunchInfo, MemoryNote};
use super::site::Site;
use super::symbolize::{Location, Symbolizer};

/// All findings, one after the other, and a line with their number. Empty if there are none.
///
/// Findings of one code whose addresses lie on the same lines are shown once: an unrolled loop has many
/// instructions for one line.
pub fn render(checker: &Checker, symbolizer: &mut Symbolizer) -> String {
    let mut renderer = Renderer { checker, symbolizer, sources: HashMap::new(), text: String::new() };
    let mut shown: Vec<(Key, Finding)> = Vec::new();
    for finding in checker.findings().list() {
        let key = renderer.key(finding);
        match shown.iter_mut().find(|(other, _)| *other == key) {
            Some((_, other)) if !key.1.is_empty() => other.count += finding.count,
            _ => shown.push((key, finding.clone())),
        }
    }
    for (_, finding) in &shown {
        renderer.finding(finding);
    }
    renderer.summary(shown.iter().map(|(_, finding)| finding.code));
    renderer.text
}

/// Code and the lines concerned, sorted.
type Key = (Code, Vec<Location>);

struct Renderer<'a> {
    checker: &'a Checker,
    symbolizer: &'a mut Symbolizer,
    /// The lines of files that could be read.
    sources: HashMap<String, Option<Vec<String>>>,
    text: String,
}

impl Renderer<'_> {
    fn key(&mut self, finding: &Finding) -> Key {
        let sites = [Some(finding.primary.site), finding.secondary.as_ref().map(|event| event.site)];
        let mut locations: Vec<Location> = sites.into_iter().flatten().filter_map(|site| self.locate(site)).collect();
        locations.iter_mut().for_each(|location| location.column = None);
        locations.sort();
        (finding.code, locations)
    }

    fn finding(&mut self, finding: &Finding) {
        let entry = finding.code.entry();
        let severity = severity_name(entry.severity);
        self.line(&format!("{severity}[{}]: {}", entry.name, finding.message));
        let first = self.event(&finding.primary, None);
        if let Some(secondary) = &finding.secondary {
            self.event(secondary, first.as_ref());
        }
        if let Some(memory) = &finding.memory {
            let memory = self.memory(memory);
            self.line(&format!("   = memory: {memory}"));
        }
        if let Some(launch) = &finding.launch {
            let launch = self.launch(launch);
            self.line(&format!("   = launch: {launch}"));
        }
        if finding.count > 1 {
            self.line(&format!("   = occurred {} times", finding.count));
        }
        self.line(&format!("   = help: {}\n", entry.help));
    }

    /// The place of an event and its source line, unless that has just been shown. Returns the place.
    fn event(&mut self, event: &Event, shown: Option<&Location>) -> Option<Location> {
        let location = self.locate(event.site);
        let place = self.place(event.site);
        let actor = match event.actor {
            Actor::Host => "by the host".to_owned(),
            Actor::Earlier => "by an earlier launch or copy".to_owned(),
            Actor::Thread { block, thread } => {
                format!("by thread {} of block {}", triple(thread), triple(block))
            }
        };
        let remark = if event.remark.is_empty() { String::new() } else { format!(", {}", event.remark) };
        self.line(&format!("  --> {place}  {} {actor}{remark}", event.what));
        let is_shown = location.as_ref().zip(shown).is_some_and(|(a, b)| a.file == b.file && a.line == b.line);
        if let Some(location) = location.as_ref().filter(|_| !is_shown)
            && let Some(source) = self.source_line(location)
        {
            self.line(&format!("   |     {}", source.trim()));
        }
        location
    }

    fn memory(&mut self, memory: &MemoryNote) -> String {
        let name = memory.name.clone().or_else(|| {
            let location = self.locate(memory.allocated)?;
            allocated_variable(&self.source_line(&location)?)
        });
        let name = name.map_or_else(|| memory.space.to_owned(), |name| format!("`{name}`"));
        let bytes = memory.bytes.end - memory.bytes.start;
        let allocated = match memory.allocated {
            Site::Unknown => String::new(),
            site => format!(" allocated at {}", self.place(site)),
        };
        let access = if bytes > 0 { format!("{bytes} bytes at offset") } else { "offset".to_owned() };
        format!("{name}, {access} {} of {}{allocated}", memory.bytes.start, memory.size)
    }

    fn launch(&mut self, launch: &LaunchInfo) -> String {
        let place = match launch.site {
            Site::Unknown => String::new(),
            site => format!(" at {}", self.place(site)),
        };
        format!("{}<<<{}, {}>>>{place}", launch.kernel, triple(launch.grid), triple(launch.block))
    }

    fn summary(&mut self, codes: impl Iterator<Item = Code> + Clone) {
        let beyond = self.checker.findings().beyond_limit();
        let count = |severity| codes.clone().filter(|code| code.entry().severity == severity).count();
        let (errors, notes) = (count(Severity::Error), count(Severity::Note));
        if errors + notes == 0 {
            return;
        }
        let beyond = if beyond > 0 { format!(", {beyond} more not shown") } else { String::new() };
        self.line(&format!("check: {}, {}{beyond}", plural(errors, "error"), plural(notes, "note")));
        if let Some(reason) = self.symbolizer.failure() {
            let line = format!("check: no source lines: {reason}");
            self.line(&line);
        }
    }

    fn locate(&mut self, site: Site) -> Option<Location> {
        match site {
            Site::Unknown => None,
            Site::Address(address) => self.symbolizer.locate(address),
            Site::Line { file, line } => {
                Some(Location { file: self.checker.file_name(file).to_owned(), line, column: None })
            }
        }
    }

    fn place(&mut self, site: Site) -> String {
        match (self.locate(site), site) {
            (Some(Location { file, line, column: Some(column) }), _) => format!("{file}:{line}:{column}"),
            (Some(Location { file, line, column: None }), _) => format!("{file}:{line}"),
            (None, Site::Address(address)) => format!("address {address:#x}"),
            (None, Site::Unknown | Site::Line { .. }) => "unknown place".to_owned(),
        }
    }

    fn source_line(&mut self, location: &Location) -> Option<String> {
        if !self.sources.contains_key(&location.file) {
            let text = std::fs::read_to_string(&location.file).ok();
            let lines = text.map(|text| text.lines().map(str::to_owned).collect());
            self.sources.insert(location.file.clone(), lines);
        }
        let lines = self.sources[&location.file].as_ref()?;
        lines.get((location.line as usize).checked_sub(1)?).cloned()
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("writing to a string cannot fail");
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Note => "note",
    }
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The variable that an allocation is stored in, read from its source line: `cudaMalloc(&d_x, …)`, also with a cast.
fn allocated_variable(line: &str) -> Option<String> {
    const ALLOCATORS: [&str; 5] =
        ["cudaMallocManaged(", "cudaMallocHost(", "cudaMallocAsync(", "cudaHostAlloc(", "cudaMalloc("];
    let arguments = ALLOCATORS.iter().find_map(|name| line.split_once(name)).map(|(_, rest)| rest)?;
    let first = arguments.split(',').next()?.trim();
    let operand = first.rsplit_once('&').map_or(first, |(_, operand)| operand);
    let operand = operand.trim_start_matches('(').trim_end_matches(')').trim();
    let is_name = |c: char| c.is_alphanumeric() || "_.[]>-:".contains(c);
    (!operand.is_empty() && operand.chars().all(is_name)).then(|| operand.to_owned())
}
