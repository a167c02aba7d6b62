//! Lines: indentation, and where a line that is too long is broken.
//!
//! Printed code carries invisible marks where it may be broken. A mark says how loosely its two sides are bound;
//! brackets around it bind tighter. A long line is broken at the loosest mark that still fits, as far right as
//! possible, and goes on four columns further in.

const WIDTH: usize = 100;
const INDENT: usize = 2;
const CONTINUATION: usize = 4;

/// Marks are control characters from here on, which no other text contains: string literals escape them.
const FIRST_MARK: u32 = 14;

/// After a comma or semicolon.
pub(super) const LIST_BREAK: char = '\u{e}';

/// After the `=` of an assignment or declaration: taken only when nothing else fits.
pub(super) const ASSIGN_BREAK: char = '\u{1f}';

/// A place where code may be broken: after an operator that binds as tightly as its `Precedence` says.
pub(super) fn operator_break(tightness: u8) -> char {
    let mark = FIRST_MARK + 1 + u32::from(tightness.min(15));
    char::from_u32(mark).expect("below the surrogates")
}

/// Text in the making, line by line.
#[derive(Default)]
pub(super) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// Adds a line at the current indentation, broken if it is too long.
    pub(super) fn line(&mut self, code: &str) {
        let indent = self.depth * INDENT;
        for (number, piece) in broken(code, indent).iter().enumerate() {
            let columns = if number == 0 { indent } else { indent + CONTINUATION };
            self.text.extend(std::iter::repeat_n(' ', columns));
            self.text.push_str(piece);
            self.text.push('\n');
        }
    }

    /// Adds lines that are as they should be.
    pub(super) fn lines(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds an empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// What is added from here on stands one step further in.
    pub(super) fn indent(&mut self) {
        self.depth += 1;
    }

    /// What is added from here on stands one step less far in.
    pub(super) fn dedent(&mut self) {
        self.depth -= 1;
    }

    /// Whether the code fits into one line here.
    pub(super) fn fits(&self, code: &str) -> bool {
        self.depth * INDENT + width(code) <= WIDTH
    }

    /// All lines.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The text of a list, which may be broken after each comma.
pub(super) fn comma_separated(items: &[String]) -> String {
    items.join(&format!(", {LIST_BREAK}"))
}

/// The lines that the code is broken into, without marks.
fn broken(code: &str, indent: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = code;
    let mut depth = 0;
    loop {
        let columns = if pieces.is_empty() { indent } else { indent + CONTINUATION };
        let Some(split) = best_split(rest, WIDTH.saturating_sub(columns), depth) else {
            pieces.push(unmarked(rest));
            return pieces;
        };
        let (piece, remainder) = rest.split_at(split.offset);
        pieces.push(unmarked(piece).trim_end().to_owned());
        rest = remainder;
        depth = split.depth;
    }
}

struct Split {
    offset: usize,
    depth: i32,
}

/// Where to break the code so that what precedes fits into `room`; `None` if all of it does or it has no mark.
fn best_split(code: &str, room: usize, start_depth: i32) -> Option<Split> {
    if width(code) <= room {
        return None;
    }
    let mut best: Option<((bool, i32, u32), Split)> = None;
    let mut depth = start_depth;
    let mut columns = 0;
    let mut in_string = false;
    let mut is_escaped = false;
    for (offset, character) in code.char_indices() {
        if is_mark(character) {
            let is_late = character == ASSIGN_BREAK || columns > room;
            let key = (is_late, depth, u32::from(character));
            let is_first_beyond = columns > room && best.is_none();
            let is_better = columns <= room && best.as_ref().is_none_or(|(known, _)| key <= *known);
            if offset > 0 && (is_first_beyond || is_better) {
                best = Some((key, Split { offset, depth }));
            }
            continue;
        }
        columns += 1;
        match character {
            '"' if !is_escaped => in_string = !in_string,
            '(' | '[' | '{' if !in_string => depth += 1,
            ')' | ']' | '}' if !in_string => depth -= 1,
            _ => {}
        }
        is_escaped = in_string && character == '\\' && !is_escaped;
    }
    best.map(|(_, split)| split)
}

fn is_mark(character: char) -> bool {
    (FIRST_MARK..' '.into()).contains(&character.into())
}

pub(super) fn unmarked(code: &str) -> String {
    code.chars().filter(|character| !is_mark(*character)).collect()
}

fn width(code: &str) -> usize {
    code.chars().filter(|character| !is_mark(*character)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(code: &str) -> String {
        let mut lines = Lines::default();
        lines.line(code);
        lines.finish()
    }

    #[test]
    fn short_lines_stay_whole() {
        assert_eq!(laid_out(&format!("f(a, {LIST_BREAK}b);")), "f(a, b);\n");
    }

    #[test]
    fn the_outermost_break_is_taken() {
        let inner = format!("inner({})", comma_separated(&vec!["argument".to_owned(); 5]));
        let code = format!("outer({});", comma_separated(&vec![inner; 3]));
        let text = laid_out(&code);
        assert_eq!(
            text,
            "outer(inner(argument, argument, argument, argument, argument),\n    \
             inner(argument, argument, argument, argument, argument),\n    \
             inner(argument, argument, argument, argument, argument));\n"
        );
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let format = "(".repeat(40);
        let code = format!("printf(\"{format}\", {LIST_BREAK}{}, {LIST_BREAK}b);", "a".repeat(60));
        assert_eq!(laid_out(&code).lines().count(), 2);
    }

    #[test]
    fn nothing_is_lost() {
        let code = comma_separated(&(0..200).map(|number| format!("value{number}")).collect::<Vec<_>>());
        let text = laid_out(&code);
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 200);
    }
}
