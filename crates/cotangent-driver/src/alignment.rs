//! Code whose accesses are checked gets what Clang does not give it: a test of each copied struct's alignment, and variables
//! at addresses that are aligned as they declare and no better.
//!
//! Both are edits of text that Clang writes and reads again. LLVM's, before it is optimised, has a `memcpy` for each copy
//! of a struct, with the alignment of its type. The assembly has a label for each variable, after its alignment.

use std::collections::HashSet;

/// Of what Clang puts into a function for a copy of a struct.
const COPY: &str = "call void @llvm.memcpy.p0.p0.i64(";

/// What is called for each side of a copy: `include/cpu/cotangent/instrumentation.hpp` defines it.
const COPIED: &str = "cotangent_copied";

/// The kinds of access of the two sides, destination first; see `abi.h`.
const SIDES: [u32; 2] = [1, 0];

/// Variables that are aligned better than this are left where they are.
const LARGEST_ALIGNMENT: u32 = 12;

/// LLVM's text with a call before each copy that says what is copied and how it should be aligned. A thread's own
/// variables are left out: their address is nobody's business, and the optimizer may then keep them in registers.
pub(crate) fn with_tested_copies(text: &str) -> String {
    let mut edited = String::with_capacity(text.len() + text.len() / 8);
    let mut own: HashSet<&str> = HashSet::new();
    for line in text.lines() {
        if line.starts_with("define ") {
            own.clear();
        }
        if let Some((name, value)) = line.trim_start().split_once(" = ") {
            let is_part = |base: &str| own.contains(base.trim_start().trim_start_matches("ptr ").trim_end());
            let is_own = value.starts_with("alloca ")
                || (value.starts_with("getelementptr ") && operands(value).get(1).is_some_and(|base| is_part(base)));
            if is_own {
                own.insert(name);
            }
        }
        if let Some(copy) = line.split_once(COPY).map(|(_, rest)| rest) {
            let place = copy.split_once("!dbg ").map(|(_, rest)| rest.split(',').next().unwrap_or(rest));
            let place = place.map(|place| format!(", !dbg {place}")).unwrap_or_default();
            for (operand, kind) in operands(copy).into_iter().zip(SIDES) {
                let Some((alignment, address)) = aligned_operand(operand) else { continue };
                if alignment > 1 && !own.contains(address) {
                    let arguments = format!("ptr {address}, i32 {alignment}, i32 {kind}");
                    edited.push_str(&format!("  call void @{COPIED}({arguments}) nounwind nomerge{place}\n"));
                }
            }
        }
        edited.push_str(line);
        edited.push('\n');
    }
    // It touches nothing of the program's, but it may not come back.
    edited.push_str(&format!("\ndeclare void @{COPIED}(ptr nocapture, i32, i32) memory(inaccessiblemem: readwrite)\n"));
    edited
}

/// `ptr align 16 %5`.
fn aligned_operand(operand: &str) -> Option<(u32, &str)> {
    let (alignment, address) = operand.trim().strip_prefix("ptr align ")?.split_once(' ')?;
    Some((alignment.parse().ok()?, address))
}

/// What commas separate, as far as the end or a parenthesis that was opened before.
fn operands(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start, mut is_quoted) = (0usize, 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if depth == 0 => {
                found.push(&text[start..at]);
                return found;
            }
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found
}

/// Assembly with each variable at an address that is no multiple of more than its alignment.
pub(crate) fn with_variables_apart(text: &str) -> String {
    let mut edited = String::with_capacity(text.len() + text.len() / 8);
    let mut objects: HashSet<&str> = HashSet::new();
    let mut locals: HashSet<&str> = HashSet::new();
    let mut is_data = false;
    // The alignment that was asked for on the line before, which is not written yet.
    let mut pending: Option<(&str, u32)> = None;
    for line in text.lines() {
        let (directive, rest) = directive(line);
        let label = line.strip_suffix(':').or_else(|| line.split_once(":  ").map(|(label, _)| label));
        let variable = label.filter(|label| is_data && objects.contains(label));
        match (variable, pending.take()) {
            (Some(_), asked) => edited.push_str(&apart(asked.map_or(0, |(_, power)| power))),
            (None, Some((asked, _))) => {
                edited.push_str(asked);
                edited.push('\n');
            }
            (None, None) => {}
        }
        match directive {
            ".text" => is_data = false,
            ".data" | ".bss" => is_data = true,
            ".section" => is_data = is_section_of_data(rest),
            ".type" => objects.extend(rest.split_once(",@object").map(|(name, _)| name)),
            ".local" => {
                locals.insert(rest);
            }
            ".p2align" if is_data => {
                let power = rest.split(',').next().and_then(|power| power.trim().parse().ok());
                if let Some(power) = power {
                    pending = Some((line, power));
                    continue;
                }
            }
            ".comm" => {
                if let Some(definition) = local_definition(rest, &locals) {
                    edited.push_str(&definition);
                    continue;
                }
            }
            _ => {}
        }
        edited.push_str(line);
        edited.push('\n');
    }
    edited
}

/// A line's directive and its operands, without the comment.
fn directive(line: &str) -> (&str, &str) {
    let line = line.split('#').next().unwrap_or(line).trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(directive, rest)| (directive, rest.trim()))
}

/// Whether variables lie in a section: `.bss._ZL1x,"aw",@nobits`. Equal constants may be merged by the linker.
fn is_section_of_data(operands: &str) -> bool {
    let mut parts = operands.split(',');
    let (name, flags, kind) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let is_kept = flags.contains('w') || name.starts_with(".rodata");
    is_kept && !flags.contains(['M', 'x']) && matches!(kind, "@progbits" | "@nobits")
}

/// To a multiple of twice the alignment, and on by the alignment.
fn apart(power: u32) -> String {
    if power > LARGEST_ALIGNMENT {
        return format!("\t.p2align\t{power}, 0x0\n");
    }
    format!("\t.p2align\t{}, 0x0\n\t.zero\t{}\n", power + 1, 1u32 << power)
}

/// `name,size,alignment` of a variable that is zero and known to this file only.
fn local_definition(operands: &str, locals: &HashSet<&str>) -> Option<String> {
    let [name, size, alignment] = operands.split(',').collect::<Vec<_>>().try_into().ok()?;
    let alignment: u32 = alignment.parse().ok().filter(|alignment: &u32| alignment.is_power_of_two())?;
    let apart = apart(alignment.ilog2());
    let here = format!("{apart}{name}:\n\t.zero\t{size}\n");
    locals.contains(name).then(|| format!("\t.pushsection\t.bss,\"aw\",@nobits\n{here}\t.popsection\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_copy_are_tested_but_no_variable_of_the_thread_itself() {
        let text = "define void @k(ptr %0) {\n  %2 = alloca %struct.float4, align 16\n  \
                    %3 = getelementptr inbounds %struct.S, ptr %2, i32 0, i32 1\n  \
                    call void @llvm.memcpy.p0.p0.i64(ptr align 16 %0, ptr align 8 @\"x,y\", i64 16, i1 false), !dbg !32\n  \
                    call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %3, i64 16, i1 false)\n}\n";
        let edited = with_tested_copies(text);
        let calls: Vec<&str> = edited.lines().filter(|line| line.contains("call void @cotangent")).collect();
        let expected = [
            "  call void @cotangent_copied(ptr %0, i32 16, i32 1) nounwind nomerge, !dbg !32",
            "  call void @cotangent_copied(ptr @\"x,y\", i32 8, i32 0) nounwind nomerge, !dbg !32",
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn variables_stand_apart_and_other_data_does_not() {
        let text = "\t.type\ttile,@object\n\t.section\tcotangent_shared,\"awT\",@progbits\n\t.p2align\t2, 0x0\ntile:\n\
                    \t.zero\t256\n\t.type\tbytes,@object\nbytes:\n\t.zero\t3\n\t.local\town\n\t.comm\town,64,8\n\
                    \t.section\t.init_array,\"aw\",@init_array\n\t.p2align\t3, 0x0\n\t.quad\tf\n";
        let expected = "\t.type\ttile,@object\n\t.section\tcotangent_shared,\"awT\",@progbits\n\t.p2align\t3, 0x0\n\
                        \t.zero\t4\ntile:\n\t.zero\t256\n\t.type\tbytes,@object\n\t.p2align\t1, 0x0\n\t.zero\t1\nbytes:\n\
                        \t.zero\t3\n\t.local\town\n\t.pushsection\t.bss,\"aw\",@nobits\n\t.p2align\t4, 0x0\n\t.zero\t8\n\
                        own:\n\t.zero\t64\n\t.popsection\n\
                        \t.section\t.init_array,\"aw\",@init_array\n\t.p2align\t3, 0x0\n\t.quad\tf\n";
        assert_eq!(with_variables_apart(text), expected);
    }
}
