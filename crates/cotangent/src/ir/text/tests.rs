//! Tests of the text form: what it looks like, and what errors say.

use expect_test::{Expect, expect};

use crate::ir::text::{parse, print};

/// The text is what is printed after it was parsed.
fn same(text: &str) {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&module), text);
}

fn error(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text).expect_err("the text is malformed").to_string());
}

#[test]
fn everything_once() {
    same(include_str!("everything.cot"));
}

#[test]
fn errors_say_where_and_what() {
    error("kernel f() { x = 1; }", expect!["1:14: expected a variable, found `x`"]);
    error("kernel f() {\n  let x: int = 1\n}", expect!["3:1: expected `;`, found `}`"]);
    error("kernel f(", expect!["1:10: expected the name of a local, found the end of the text"]);
    error("function f() {}", expect!["1:1: expected a record, a variable, a function or a rule, found `function`"]);
    error("host x: unsigned float;", expect!["1:9: expected an integer type, found `unsigned`"]);
    error("host x: const int;", expect!["1:18: expected `*` or `&` after a qualified type, found `;`"]);
    error("host x: Missing;", expect!["1:9: expected a type, found the unknown name `Missing`"]);
    error("host x: int = 12q;", expect!["1:15: expected a number that fits, with the suffix of its type, found `12q`"]);
    error(
        "host x: int[99999999999999999999];",
        expect!["1:13: expected an array's length that fits, found `99999999999999999999`"],
    );
    error("host x: int = (1 + 2;", expect!["1:21: expected `)` or an operator, found `;`"]);
    error("host x: bool = f();", expect!["1:19: expected the type of the result: `f::<type>()`"]);
    error("host if: int;", expect!["1:6: expected a name, found the keyword `if`"]);
    error("host `a\\q`: int;", expect!["1:6: expected n, t, r, u, a quote or `\\` after `\\`"]);
    error("host `a", expect!["1:6: expected a closing `, found the end of the text"]);
    error("host é: int;", expect![[r#"1:6: expected a token, found "é""#]]);
    error("host f() { call g(); }", expect!["1:17: expected a function, found the unknown name `g`"]);
    error(
        "host f() { let x#3: int; }",
        expect!["1:27: the function above has no local #0, but locals of higher numbers"],
    );
    error("host f() { let x: int; let y#0: int; }", expect!["1:31: there are two locals with the number 0"]);
    error(
        "record R { x: int } host f(r: R) { r.y = 1; }",
        expect!["1:38: expected a field of the record before, found `y`"],
    );
    error("host f(i: int) { i[0] = 1; }", expect!["1:23: expected a pointer or an array before this"]);
    error("host f(i: int) { 3 = i; }", expect!["1:18: expected a place, found `3`"]);
    error(
        "host f(i: int) { for j: int = 0; i < 3; j += 1 {} }",
        expect!["1:34: expected the loop's counter, found `i`"],
    );
}
