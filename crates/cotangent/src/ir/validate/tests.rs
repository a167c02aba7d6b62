//! Each check of the validator, on a few lines of text.
//!
//! What the text form cannot say, because it is read into well-typed trees, is made by changing a parsed module.

use expect_test::{Expect, expect};

use super::validate;
use crate::diagnostic::{Diagnostic, INTERNAL};
use crate::ir::{
    Expr, ExprKind, FunctionId, GlobalId, LocalId, MAX_DEPTH, Module, Place, PlaceKind, RecordId, Stmt, StmtKind, Type,
    UnaryOp, text,
};

fn violations(module: &Module) -> String {
    match validate(module) {
        Ok(()) => "valid".to_owned(),
        Err(violations) => violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

fn check(text: &str, expected: Expect) {
    check_changed(text, |_| {}, expected);
}

/// Checks a module that the text form has no words for.
fn check_changed(text: &str, change: impl FnOnce(&mut Module), expected: Expect) {
    let mut module = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    change(&mut module);
    expected.assert_eq(&violations(&module));
}

/// Checks the statements of a kernel that has parameters of every kind.
fn check_kernel(body: &str, expected: Expect) {
    check(&kernel(body), expected);
}

fn kernel(body: &str) -> String {
    format!(
        "record R {{ a: float, b: int[2] }} constexpr c: int = 3;
        device g(x: float) -> float {{ return x; }}
        kernel k(i: int, u: unsigned int, f: float, d: double, b: bool, p: float*, q: const float*, r: R) {{ {body} }}"
    )
}

/// Replaces the only statement's value.
fn set_value(module: &mut Module, value: Expr) {
    let body = &mut module.functions[FunctionId(1)].body;
    let StmtKind::Assign { value: old, .. } = &mut body[0].kind else { panic!("the statement is an assignment") };
    *old = value;
}

#[test]
fn the_example_of_everything_is_valid() {
    check(include_str!("../text/everything.cot"), expect!["valid"]);
}

#[test]
fn names() {
    check(
        "record `a b` {} host `for`: int; host f() {} device f(x: int) {}",
        expect![[r#"
        in `a b`: the name is no C++ name
        in `for`: the name is no C++ name
        in `f`: another record, variable or function has this name"#]],
    );
    check(
        "record R { x: int, x: int, `a::b`: int }",
        expect![[r#"
        in `R`: two fields have the name `x`
        in `R`: the field `a::b` is no identifier"#]],
    );
    check(
        "host f(`a::b`: int) { unused `1`: int; }",
        expect![[r#"
        in `f`: the local `a::b` is no identifier
        in `f`: the local `1` is no identifier"#]],
    );
}

#[test]
fn hidden_names() {
    check(
        "record R {} constexpr c: int = 1; device g() {} device f(c: int, g: int, R: int, sqrtf: float) {
           let x: int = c; call g(); let y: R; let z: float = sqrtf(sqrtf); }",
        expect![[r#"
            in `f`, at `call g();`: `g` is hidden by a local of that name
            in `f`, at `let y: R;`: `R` is hidden by a local of that name
            in `f`, at `let z: float = sqrtf(sqrtf);`: `sqrtf` is hidden by a local of that name"#]],
    );
    check_changed(
        "constexpr c: int = 1; host f(c: int) { c = 2; let d: int = c; }",
        |module| {
            let place = Place::new(PlaceKind::Global(GlobalId(0)), Type::INT);
            module.functions[FunctionId(0)].body.push(Stmt::new(StmtKind::Return(Some(Expr::load(place)))));
        },
        expect![[r#"
            in `f`, at `return c;`: `c` is hidden by a local of that name
            in `f`, at `return c;`: the returned value has type `int`, not `void`"#]],
    );
}

#[test]
fn records() {
    check(
        "record A { b: B*, c: B[2] } record B { b: B, a: A } record C align 12 {}",
        expect![[r#"
        in `A`: the field `c` contains a record that is not before this one
        in `B`: the field `b` contains a record that is not before this one
        in `C`: the alignment is no power of two"#]],
    );
    check(
        "record A { v: void, p: void*, r: int&, s: int&*, t: int&[2], u: int[0], w: void[2] }",
        expect![[r#"
        in `A`: something has type `void`
        in `A`: a pointer to references or an array of them
        in `A`: a pointer to references or an array of them
        in `A`: an array of length 0
        in `A`: an array of `void`"#]],
    );
    check_changed(
        "record A { p: int* }",
        |module| {
            let deep = (0..40).fold(Type::INT, |ty, _| Type::pointer(ty));
            let fields = &mut module.records[RecordId(0)].fields;
            fields[0].ty = deep;
            fields.push(fields[0].clone());
            fields[1].ty = Type::Record(RecordId(7));
        },
        expect![[r#"
            in `A`: a type of more than 16 pointers and arrays
            in `A`: two fields have the name `p`
            in `A`: there is no record 7
            in `A`: the field `p` contains a record that is not before this one"#]],
    );
    check("host x: opaque ``;", expect!["in `x`: an opaque type without a name"]);
}

#[test]
fn variables() {
    check(
        "constexpr c: int; host x: float = 1; constant z: int[2] = make int[2](1);",
        expect![[r#"
        in `c`: `constexpr` without a value
        in `x`: the initial value has type `int`, not `float`"#]],
    );
    check("constexpr c: unsigned int = threadIdx.x;", expect!["in `c`: a built-in variable outside device code"]);
    check_changed(
        "host x: int = 1; host y: int = x;",
        |module| {
            let later = Place::new(PlaceKind::Global(GlobalId(1)), Type::INT);
            module.globals[GlobalId(0)].init = Some(Expr::load(later));
            module.globals[GlobalId(1)].init = Some(Expr::load(Place::local(LocalId(0), Type::INT)));
        },
        expect![[r#"
            in `x`: `y` is mentioned before it begins
            in `y`: there is no local 0 here"#]],
    );
}

#[test]
fn function_heads() {
    check(
        "kernel k() -> int {} host h() -> int[3] bounds 32 {} kernel l(a: int[2], shared b: int) bounds 0 {}",
        expect![[r#"
            in `k`: a kernel with a result
            in `h`: the result is an array
            in `h`: launch bounds of what is no kernel
            in `l`: launch bounds of no thread
            in `l`: a parameter is an array or shared
            in `l`: a parameter is an array or shared"#]],
    );
    check_changed(
        "host f(a: int, b: int) {}",
        |module| module.functions[FunctionId(0)].params.reverse(),
        expect!["in `f`: the parameters are not the first locals"],
    );
    check(
        "host f() { let shared x: int; let dynamic y: int[0]; } kernel k() { let dynamic y: int[2]; }",
        expect![[r#"
            in `f`: shared memory in host code
            in `f`: shared memory in host code
            in `k`: dynamic shared memory is no array of length 0"#]],
    );
    check(
        "kernel k() { let shared x: int = 1; }",
        expect!["in `k`, at `let shared x: int = 1;`: shared memory with an initial value"],
    );
}

#[test]
fn declarations() {
    check_kernel(
        "let x: int = 1.0f; let i: int; let y: int; if b { let y: int; } else { let z: int; } let z: int;",
        expect![[r#"
            in `k`, at `let x: int = 1.0f;`: the initial value has type `float`, not `int`
            in `k`, at `let i: int;`: another local of the name `i` is visible
            in `k`, at `let y: int;`: another local of the name `y` is visible"#]],
    );
    check_changed(
        &kernel("let x: int = i; if b { let y: int; }"),
        |module| {
            let body = &mut module.functions[FunctionId(1)].body;
            let declare = body[0].clone();
            body.push(declare);
            let use_of_inner = Place::local(LocalId(9), Type::INT);
            body.push(Stmt::new(StmtKind::Assign { place: use_of_inner, value: Expr::int(1) }));
            body.push(Stmt::new(StmtKind::Declare { local: LocalId(99), init: None }));
            let unknown = Place::local(LocalId(99), Type::INT);
            body.push(Stmt::new(StmtKind::Assign { place: unknown, value: Expr::int(1) }));
        },
        expect![[r#"
            in `k`, at `let x: int = i;`: `x` is declared twice
            in `k`, at `let x: int = i;`: another local of the name `x` is visible
            in `k`, at `y = 1;`: `y` is used where it is not declared
            in `k`, at `let `?99`;`: there is no local 99
            in `k`, at ``?99` = 1;`: there is no local 99 here"#]],
    );
    check_changed(
        &kernel("let x: int; x = 1;"),
        |module| module.functions[FunctionId(1)].body.reverse(),
        expect!["in `k`, at `x = 1;`: `x` is used where it is not declared"],
    );
}

#[test]
fn assignments() {
    check_kernel(
        "f = 1; p[0] = d; *q = f; c = 1; r.b = r.b; r.b[1] = 2; r = r;",
        expect![[r#"
        in `k`, at `f = 1;`: the value has type `int`, not `float`
        in `k`, at `*p = d;`: the value has type `double`, not `float`
        in `k`, at `*q = f;`: a store through a pointer to `const`
        in `k`, at `c = 1;`: a constant variable is stored to
        in `k`, at `r.b = r.b;`: an array is used as a value
        in `k`, at `r.b = r.b;`: the value of an array is loaded
        in `k`, at `r.b = r.b;`: a whole array is stored"#]],
    );
    check_kernel(
        "f += f; f += 1; i += 1; q[1] += f; p[i] += f;",
        expect![[r#"
        in `k`, at `f += 1;`: the value has type `int`, not `float`
        in `k`, at `i += 1;`: an accumulated place is no floating scalar
        in `k`, at `q[1] += f;`: a store through a pointer to `const`"#]],
    );
}

#[test]
fn calls() {
    check_kernel(
        "f = call g(f); i = call g(f); call g(i, i); call k(i, u, f, d, b, p, q, r);",
        expect![[r#"
        in `k`, at `i = call g(f);`: where the result goes has type `int`, not `float`
        in `k`, at `call g(i, i);`: `g` takes 1 arguments, not 2
        in `k`, at `call g(i, i);`: the argument for `x` has type `int`, not `float`
        in `k`, at `call k(i, u, f, d, b, p, q, r);`: `k` is not before the function that calls it
        in `k`, at `call k(i, u, f, d, b, p, q, r);`: a call of a function of another space"#]],
    );
    check(
        "device a() { call b(); } device b() { call b(); } host h() { call a(); }",
        expect![[r#"
        in `a`, at `call b();`: `b` is not before the function that calls it
        in `b`, at `call b();`: `b` is not before the function that calls it
        in `h`, at `call a();`: a call of a function of another space"#]],
    );
    check_changed(
        &kernel("call g(f);"),
        |module| {
            let StmtKind::Call { function, .. } = &mut module.functions[FunctionId(1)].body[0].kind else { return };
            *function = FunctionId(9);
        },
        expect!["in `k`, at `call `?9`(f);`: there is no function 9"],
    );
}

#[test]
fn branches() {
    check_kernel(
        "if i {} while f {} do {} while p;",
        expect![[r#"
        in `k`, at `if i {`: the condition has type `int`, not `bool`
        in `k`, at `while f {`: the condition has type `float`, not `bool`
        in `k`, at `do {`: the condition has type `float*`, not `bool`"#]],
    );
    check_kernel(
        "switch i { case 1, 2 { break; } case 2 {} case default {} case default {} }",
        expect![[r#"
        in `k`, at `switch i {`: two cases for 2
        in `k`, at `switch i {`: two default cases"#]],
    );
    check_kernel(
        "switch f {} switch (i as unsigned char) { case 256 {} case -1 {} }",
        expect![[r#"
        in `k`, at `switch f {`: a switch over what is no integer
        in `k`, at `switch (i as unsigned char) {`: the case 256 is out of range
        in `k`, at `switch (i as unsigned char) {`: the case -1 is out of range"#]],
    );
    check_kernel(
        "break; continue; switch i { case 1 { continue; } } while b { switch i { case { continue; } } break; }",
        expect![[r#"
            in `k`, at `break;`: no loop or switch is left
            in `k`, at `continue;`: no loop is continued
            in `k`, at `continue;`: no loop is continued"#]],
    );
    check(
        "host f() -> int { return 1.0f; return; } host g() { return 1; }",
        expect![[r#"
        in `f`, at `return 1.0f;`: the returned value has type `float`, not `int`
        in `f`, at `return;`: nothing is returned, but the function has a result
        in `g`, at `return 1;`: the returned value has type `int`, not `void`"#]],
    );
}

#[test]
fn loops() {
    check_kernel(
        "for j: int = 0u; j < 3u; j += 1u {} for s: R = r; s < r; s += r {}",
        expect![[r#"
            in `k`, at `for j: int = 0u; j < 3u; j += 1u {`: the first value has type `unsigned int`, not `int`
            in `k`, at `for j: int = 0u; j < 3u; j += 1u {`: the step has type `unsigned int`, not `int`
            in `k`, at `for s: R = r; s < r; s += r {`: a loop's counter is neither arithmetic nor a pointer"#]],
    );
    check_kernel(
        "for j: int = 0; j + 3; j %= 1 {} for s: float* = p; s != p; s -= 1 {}",
        expect![[r#"
        in `k`, at `for j: int = 0; j + 3; j %= 1 {`: a loop's test is no comparison
        in `k`, at `for j: int = 0; j + 3; j %= 1 {`: a counter cannot step by `%`
        in `k`, at `for s: float* = p; s != p; s -= 1 {`: a pointer's step is no offset
        in `k`, at `for s: float* = p; s != p; s -= 1 {`: the step has type `int`, not `float*`"#]],
    );
    check_kernel(
        "for j: float = f; j < f; j <<= 1 {} for j: int = 9; j > 0; j >>= 1u {}",
        expect!["in `k`, at `for j: float = f; j < f; j <<= 1 {`: a shifted counter is no integer"],
    );
    check_kernel(
        "for s: float* = p; s < (p + 9); s += 1.0f {} for shared j: int = 0; j < j; j += j {}",
        expect![[r#"
        in `k`, at `for s: float* = p; s < (p + 9); s += 1.0f {`: an offset by what is no integer
        in `k`, at `for shared j: int = 0; j < j; j += j {`: a loop's counter is shared"#]],
    );
    check_kernel(
        "for j: int = 0; j < 9; j += 1 { j = 1; let s: int* = &j; let t: const int* = &const j; }",
        expect![[r#"
            in `k`, at `j = 1;`: a loop's counter is stored to
            in `k`, at `let s: int* = &j;`: a pointer to a loop's counter that is not to `const`"#]],
    );
    check_changed(
        &kernel("for j: int = 0; j < 9; j += 1 {}"),
        |module| {
            let body = &mut module.functions[FunctionId(1)].body;
            body.insert(0, Stmt::new(StmtKind::Declare { local: LocalId(8), init: None }));
        },
        expect![[r#"
            in `k`, at `let j: int;`: a loop's counter is declared apart from its loop
            in `k`, at `for j: int = 0; j < 9; j += 1 {`: `j` is declared twice
            in `k`, at `for j: int = 0; j < 9; j += 1 {`: another local of the name `j` is visible"#]],
    );
}

#[test]
fn barriers() {
    check(
        "host f(x: int) { barrier block; atomic add(x, 1); x = collective any[1u](x); opaque printf(\"\"); }",
        expect![[r#"
            in `f`, at `barrier block;`: a barrier outside device code
            in `f`, at `atomic add(x, 1);`: an atomic outside device code
            in `f`, at `x = collective any[1u](x);`: a collective outside device code"#]],
    );
    check_kernel(
        "barrier block(1); barrier warp(1); barrier warp; barrier block_or; f = barrier block_count(u);",
        expect![[r#"
            in `k`, at `barrier block(1);`: this barrier has no argument
            in `k`, at `barrier warp(1);`: the mask has type `int`, not `unsigned int`
            in `k`, at `barrier block_or;`: a counting barrier without a predicate
            in `k`, at `f = barrier block_count(u);`: the predicate has type `unsigned int`, not `int`
            in `k`, at `f = barrier block_count(u);`: where the result goes has type `float`, not `int`"#]],
    );
    check_kernel(
        "i = barrier fence;",
        expect!["in `k`, at `i = barrier fence;`: only a counting barrier has a result"],
    );
}

#[test]
fn atomics() {
    check_kernel(
        "atomic add(*q, f); atomic add(b, b); atomic min(r, r); atomic max(i, u); f = atomic or(i, 1);",
        expect![[r#"
            in `k`, at `atomic add(*q, f);`: a store through a pointer to `const`
            in `k`, at `atomic add(b, b);`: an atomic on what is no scalar of 32 or 64 bits
            in `k`, at `atomic min(r, r);`: an atomic on what is no scalar of 32 or 64 bits
            in `k`, at `atomic max(i, u);`: the value has type `unsigned int`, not `int`
            in `k`, at `f = atomic or(i, 1);`: where the result goes has type `float`, not `int`"#]],
    );
    check_kernel(
        "atomic add(i, 1, 2); atomic compare_and_swap(i, 1); atomic compare_and_swap(i, 1u, 2);",
        expect![[r#"
            in `k`, at `atomic add(i, 1, 2);`: a value to compare with belongs to compare-and-swap alone
            in `k`, at `atomic compare_and_swap(i, 1);`: a value to compare with belongs to compare-and-swap alone
            in `k`, at `atomic compare_and_swap(i, 1u, 2);`: the value to compare with has type `unsigned int`, not `int`"#]],
    );
    check(
        "kernel k(x: short*, h: __half*) { atomic add(*x, 1s); atomic add(*h, 1.0h); atomic min(*h, 1.0h); }",
        expect![[r#"
        in `k`, at `atomic add(*x, 1s);`: an atomic on what is no scalar of 32 or 64 bits
        in `k`, at `atomic min(*h, 1.0h);`: an atomic on what is no scalar of 32 or 64 bits"#]],
    );
}

#[test]
fn collectives() {
    check_kernel(
        "f = collective shuffle[u](f, 1); f = collective shuffle_up[u](f, 1); i = collective shuffle[u](f, 1, 32);",
        expect![[r#"
            in `k`, at `f = collective shuffle_up[u](f, 1);`: an argument has type `int`, not `unsigned int`
            in `k`, at `i = collective shuffle[u](f, 1, 32);`: where the result goes has type `int`, not `float`"#]],
    );
    check_kernel(
        "u = collective ballot(i); u = collective active_mask[u](); u = collective any[i](i); collective all[u]();",
        expect![[r#"
            in `k`, at `u = collective ballot(i);`: all collectives but the active mask have a mask
            in `k`, at `u = collective active_mask[u]();`: all collectives but the active mask have a mask
            in `k`, at `u = collective any[i](i);`: the mask has type `int`, not `unsigned int`
            in `k`, at `u = collective any[i](i);`: where the result goes has type `unsigned int`, not `int`
            in `k`, at `collective all[u]();`: a collective with too few or too many arguments"#]],
    );
    check_kernel(
        "u = collective match_all[u](f, &i); i = collective reduce_add[u](i); u = collective match_any[u](d);",
        expect!["valid"],
    );
}

#[test]
fn launches() {
    check(
        "kernel k(x: int) { launch k<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>(x); runtime cudaFree(x); }
         host f() { launch k<<<[1, 1u, 1u], [1u, 1u, 1u], shared: 1>>>(); launch f<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>(); }",
        expect![[r#"
            in `k`, at `launch k<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>(x);`: a launch outside host code
            in `k`, at `launch k<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>(x);`: `k` is not before the function that calls it
            in `k`, at `runtime cudaFree(x);`: a call of the runtime outside host code
            in `f`, at `launch k<<<[1, 1u, 1u], [1u, 1u, 1u], shared: 1>>>();`: an extent has type `int`, not `unsigned int`
            in `f`, at `launch k<<<[1, 1u, 1u], [1u, 1u, 1u], shared: 1>>>();`: the shared size has type `int`, not `unsigned long`
            in `f`, at `launch k<<<[1, 1u, 1u], [1u, 1u, 1u], shared: 1>>>();`: `k` takes 1 arguments, not 0
            in `f`, at `launch f<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>();`: `f` is not before the function that calls it
            in `f`, at `launch f<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>();`: a launch of what is no kernel"#]],
    );
}

#[test]
fn records_of_the_reverse_sweep() {
    check_kernel(
        "push f to r; pop f from r; pop c from r;",
        expect!["in `k`, at `pop c from r;`: a constant variable is stored to"],
    );
    check_changed(
        &kernel("push f to r;"),
        |module| {
            let StmtKind::Push { record, .. } = &mut module.functions[FunctionId(1)].body[0].kind else { return };
            *record = LocalId(77);
        },
        expect!["in `k`, at `push f to `?77`;`: there is no local 77 here"],
    );
}

#[test]
fn constants() {
    check_kernel(
        "i = 2147483648; u = -1u; f = 0x3fb999999999999af; f = null(float); p = null(float*);",
        expect![[r#"
        in `k`, at `i = 2147483648;`: 2147483648 is out of range
        in `k`, at `u = -1u;`: -1 is out of range
        in `k`, at `f = 0x3fb999999999999af;`: 0.1 is no float
        in `k`, at `f = null(float);`: null has type `float`"#]],
    );
    check_changed(
        &kernel("i = 1;"),
        |module| set_value(module, Expr::new(ExprKind::Int(1), Type::FLOAT)),
        expect![[r#"
            in `k`, at `i = 1;`: an integer constant has type `float`
            in `k`, at `i = 1;`: the value has type `float`, not `int`"#]],
    );
    check_changed(
        &kernel("b = b;"),
        |module| set_value(module, Expr::new(ExprKind::Bool(true), Type::INT)),
        expect![[r#"
            in `k`, at `b = true;`: a truth value has type `int`, not `bool`
            in `k`, at `b = true;`: the value has type `int`, not `bool`"#]],
    );
}

#[test]
fn operators() {
    check_kernel(
        "f = (f + d); b = (b + b); f = (f % f); f = (f & f); i = (i << f); u = (u >> i); b = (b & b);",
        expect![[r#"
            in `k`, at `f = (f + d);`: the right operand has type `double`, not `float`
            in `k`, at `b = (b + b);`: `+` does not apply to `bool` and `bool`
            in `k`, at `f = (f % f);`: `%` does not apply to `float` and `float`
            in `k`, at `f = (f & f);`: `&` does not apply to `float` and `float`
            in `k`, at `i = (i << f);`: `<<` does not apply to `int` and `float`"#]],
    );
    check_kernel(
        "b = (r == r); b = (i < u); b = (b && i); p = (p + f); p = (p - 1); p = (p + 1u);",
        expect![[r#"
        in `k`, at `b = (r == r);`: `==` does not apply to `R` and `R`
        in `k`, at `b = (i < u);`: the right operand has type `unsigned int`, not `int`
        in `k`, at `b = (b && i);`: the right operand has type `int`, not `bool`
        in `k`, at `p = (p + f);`: `+` does not apply to `float*` and `float`
        in `k`, at `p = (p - 1);`: the right operand has type `int`, not `float*`
        in `k`, at `p = (p - 1);`: `-` does not apply to `float*` and `int`"#]],
    );
    check_kernel(
        "b = -b; i = !i; f = ~f; f = -f; f = (i ? f : d);",
        expect![[r#"
        in `k`, at `b = -b;`: an operand of a unary operator has type `bool`
        in `k`, at `i = !i;`: an operand of a unary operator has type `int`
        in `k`, at `f = ~f;`: an operand of a unary operator has type `float`
        in `k`, at `f = (i ? f : d);`: the condition has type `int`, not `bool`
        in `k`, at `f = (i ? f : d);`: the second choice has type `double`, not `float`"#]],
    );
    check_changed(
        &kernel("i = 1;"),
        |module| set_value(module, Expr::new(ExprKind::Unary(UnaryOp::Negate, Box::new(Expr::int(1))), Type::UINT)),
        expect![[r#"
            in `k`, at `i = -(1);`: the operand has type `int`, not `unsigned int`
            in `k`, at `i = -(1);`: the value has type `unsigned int`, not `int`"#]],
    );
}

#[test]
fn conversions() {
    check_kernel(
        "i = (f as int); b = (p as bool); r = (r as R); f = (r as float); p = ((p as unsigned long) as float*);",
        expect!["in `k`, at `f = (r as float);`: `R` cannot be converted to `float`"],
    );
    check_kernel(
        "let v: void* = (p as void*); *(v as float*) = *v;",
        expect![[r#"
        in `k`, at `*(v as float*) = *v;`: a value of type `void`
        in `k`, at `*(v as float*) = *v;`: a place of type `void`
        in `k`, at `*(v as float*) = *v;`: the value has type `void`, not `float`"#]],
    );
}

#[test]
fn composites() {
    check_kernel(
        "r = make R(f, make int[2](1)); r = make R(i, i, i); r = make R(f, r.b); f = make float(f);",
        expect![[r#"
            in `k`, at `r = make R(i, i, i);`: more values than the record has fields
            in `k`, at `r = make R(i, i, i);`: the value of the field `a` has type `int`, not `float`
            in `k`, at `r = make R(i, i, i);`: the value of the field `b` has type `int`, not `int[2]`
            in `k`, at `r = make R(f, r.b);`: an array is used as a value
            in `k`, at `r = make R(f, r.b);`: the value of an array is loaded
            in `k`, at `f = make float(f);`: what is made of parts has type `float`"#]],
    );
    check_kernel(
        "let a: int[2][2] = make int[2][2](make int[2](1, 2, 3), make int[2]()); let e: int[2] = r.b;",
        expect![[r#"
            in `k`, at `let a: int[2][2] = make int[2][2](make int[2](1, 2, 3), make int[2]());`: more elements than the array has
            in `k`, at `let e: int[2] = r.b;`: the value of an array is loaded"#]],
    );
    check_kernel(
        "i = (sizeof(void) as int); f = sqrtf(r.b, make int[2]());",
        expect![[r#"
        in `k`, at `i = (sizeof(void) as int);`: something has type `void`
        in `k`, at `f = sqrtf(r.b, make int[2]());`: an array is used as a value
        in `k`, at `f = sqrtf(r.b, make int[2]());`: an array is used as a value
        in `k`, at `f = sqrtf(r.b, make int[2]());`: the value of an array is loaded
        in `k`, at `f = sqrtf(r.b, make int[2]());`: an array is used as a value
        in `k`, at `f = sqrtf(r.b, make int[2]());`: the value has type `int[2]`, not `float`"#]],
    );
}

#[test]
fn places() {
    check_kernel(
        "f = p[f]; i = r.b[b];",
        expect![[r#"
        in `k`, at `f = p[f];`: an index has type `float`
        in `k`, at `i = r.b[b];`: an index has type `bool`"#]],
    );
    check_changed(
        &kernel("i = 1;"),
        |module| {
            let local = |id, ty| Place::local(LocalId(id), ty);
            let field = local(7, Type::Record(RecordId(0))).field(9, Type::INT);
            let index = PlaceKind::Index(Box::new(local(0, Type::INT)), Box::new(Expr::int(0)));
            let element = PlaceKind::Element(Box::new(Expr::int(0)), Box::new(Expr::int(0)));
            let places = [
                local(0, Type::FLOAT),
                field,
                Place::new(index, Type::INT),
                Place::new(element, Type::INT),
                Place::new(PlaceKind::Global(GlobalId(5)), Type::INT),
                Place::new(PlaceKind::Global(GlobalId(0)), Type::FLOAT),
            ];
            let returns =
                places.map(|place| Stmt::new(StmtKind::Return(Some(Expr::cast(Expr::load(place), Type::LONG)))));
            let function = &mut module.functions[FunctionId(1)];
            function.space = crate::ir::Space::Device;
            function.result = Type::LONG;
            function.body = returns.to_vec();
        },
        expect![[r#"
            in `k`, at `return (i as long);`: the place `i` has type `float`, not `int`
            in `k`, at `return (r.`?9` as long);`: there is no field 9
            in `k`, at `return (i[0] as long);`: the base of an index has type `int`
            in `k`, at `return (*0 as long);`: the base of an element has type `int`
            in `k`, at `return (`?5` as long);`: there is no variable 5
            in `k`, at `return (c as long);`: the place `c` has type `float`, not `int`"#]],
    );
}

#[test]
fn nesting() {
    let nested = |levels: usize| {
        let mut module = text::parse(&kernel("b = b;")).expect("the text is well-formed");
        let value = (0..levels).fold(Expr::bool(true), |operand, _| Expr::unary(UnaryOp::Not, operand));
        set_value(&mut module, value);
        violations(&module)
    };
    assert_eq!(nested(MAX_DEPTH - 1), "valid");
    assert_eq!(nested(MAX_DEPTH), "in `k`: nested more than 200 deep");
    assert_eq!(nested(MAX_DEPTH * 10), "in `k`: nested more than 200 deep");
}

#[test]
fn violations_are_diagnostics_and_not_endless() {
    let module = text::parse(&kernel(&"i = f;".repeat(1000))).expect("the text is well-formed");
    let violations = validate(&module).expect_err("the types differ");
    assert_eq!(violations.len(), 100);
    let diagnostic = Diagnostic::from(violations[0].clone());
    assert_eq!(diagnostic.code, INTERNAL);
    assert_eq!(diagnostic.message, "in `k`, at `i = f;`: the value has type `float`, not `int`");
}

#[test]
fn rules() {
    let of = |rules: &str| {
        let text = format!("device f(x: float) -> float {{ return x; }} device g() {{ }} kernel k() {{ }} {rules}");
        violations(&text::parse(&text).expect("the text is well-formed"))
    };
    assert_eq!(of("rule f: pullback g; rule g: constant;"), "valid");
    assert_eq!(of("rule f: split g, g; rule f: constant;"), "in `f`: it has two rules");
    assert_eq!(of("rule f: pullback f;"), "in `f`: its rule names itself");
    assert_eq!(of("rule f: pullback k;"), "in `f`: its rule names what is no function of the device");
}
