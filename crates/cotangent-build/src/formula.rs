//! Formulas of the metadata, which say how large a record is, as expressions of Rust.

use serde_json::Value;

/// A formula as an expression of type `i64`. `named` is what a parameter or a size of the launch is called there, as an `i64`.
pub(crate) fn number(formula: &Value, named: &dyn Fn(&str) -> String) -> String {
    match formula {
        Value::String(name) => named(name),
        Value::Array(all) => match all.as_slice() {
            [op, condition, then, otherwise] if op == "?" => {
                let (condition, then) = (self::condition(condition, named), number(then, named));
                format!("(if {condition} {{ {then} }} else {{ {} }})", number(otherwise, named))
            }
            [op, operand] if op == "-" => format!("(-{})", number(operand, named)),
            [op, operands @ ..] if is_arithmetic(op) => joined(op, operands, &|operand| number(operand, named)),
            _ => format!("i64::from({})", condition(formula, named)),
        },
        other => format!("{other}_i64"),
    }
}

/// A formula as a condition.
fn condition(formula: &Value, named: &dyn Fn(&str) -> String) -> String {
    match formula.as_array().map(Vec::as_slice) {
        Some([op, operands @ ..]) if op == "&&" || op == "||" => {
            joined(op, operands, &|operand| condition(operand, named))
        }
        Some([op, operands @ ..]) if !is_arithmetic(op) && op != "?" => {
            joined(op, operands, &|operand| number(operand, named))
        }
        _ => format!("({} != 0)", number(formula, named)),
    }
}

fn is_arithmetic(op: &Value) -> bool {
    op.as_str().is_some_and(|op| ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"].contains(&op))
}

fn joined(op: &Value, operands: &[Value], printed: &dyn Fn(&Value) -> String) -> String {
    let operands: Vec<String> = operands.iter().map(printed).collect();
    format!("({})", operands.join(&format!(" {} ", op.as_str().unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(formula: &Value) -> String {
        number(formula, &|name| format!("<{name}>"))
    }

    #[test]
    fn formulas_are_expressions() {
        assert_eq!(printed(&json!(["*", 4, "n", ["-", "grid.x", 1]])), "(4_i64 * <n> * (<grid.x> - 1_i64))");
        let chosen = json!(["?", ["&&", [">", "n", 0], "flag"], ["-", "n"], 0]);
        assert_eq!(printed(&chosen), "(if ((<n> > 0_i64) && (<flag> != 0)) { (-<n>) } else { 0_i64 })");
        assert_eq!(printed(&json!(["+", ["<", "n", 3], 1])), "(i64::from((<n> < 3_i64)) + 1_i64)");
    }
}
