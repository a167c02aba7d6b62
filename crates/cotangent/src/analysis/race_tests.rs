//! Tests of the proofs, each where it holds and where it just does not.

use super::race::{Addition, AdjointParam, additions, stores_of_whole_blocks};
use crate::ir::{FunctionId, LocalId, Module, text, validate};

fn parse(text: &str) -> Module {
    let module = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(validate(&module), Ok(()), "{text}");
    module
}

/// One letter for each accumulation: plain or atomic. A variable `d_x` is the adjoint of `x`, or of the first.
pub(super) fn decide(module: &Module) -> String {
    let id = FunctionId(u32::try_from(module.functions.len() - 1).expect("few functions"));
    let function = &module.functions[id];
    let named = |name: &str| function.locals.ids().find(|local| function.local_name(*local) == name);
    let adjoint = |param: LocalId| {
        let primal = named(function.local_name(param).strip_prefix("d_")?).unwrap_or(LocalId(0));
        Some(AdjointParam { adjoint: param, primal, is_shared: true, is_anywhere: false, is_contended: false })
    };
    let adjoints: Vec<_> = function.locals.ids().filter_map(adjoint).collect();
    let letter = |addition: &Addition| if *addition == Addition::Plain { 'p' } else { 'a' };
    additions(module, id, &adjoints).iter().map(letter).collect()
}

const PARAMS: &str = "x: const float*, y: float*, d_x: float*, d_y: float*, n: int, m: int, idx: const int*";
const ID: &str = "let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);";

/// The decisions for a kernel with these statements.
fn kernel(body: &str) -> String {
    decide(&parse(&format!("kernel k({PARAMS}) {{ {ID} {body} }}")))
}

#[test]
fn an_element_that_is_stored_belongs_to_its_thread() {
    assert_eq!(kernel("if (i < n) { y[i] = x[i]; } if (i < n) { d_x[i] += 1.0f; }"), "p");
    assert_eq!(kernel("if (i < n) { y[i] = x[i]; d_x[i] += 1.0f; }"), "p");
    assert_eq!(kernel("y[i] = x[i]; if (i < n) { d_x[i] += 1.0f; }"), "p");
    // Without the store, nothing tells that a block has one row.
    assert_eq!(kernel("if (i < n) { d_x[i] += 1.0f; }"), "a");
    // The index is computed anew, under another name.
    let again = "let j: int = (((threadIdx.x + (blockDim.x * blockIdx.x))) as int);";
    assert_eq!(kernel(&format!("y[i] = x[i]; {again} d_x[j] += 1.0f;")), "p");
}

#[test]
fn an_adjoint_that_is_overwritten_tells_of_a_store() {
    // The reverse sweep alone, whose forward sweep is another kernel.
    assert_eq!(kernel("if (i < n) { d_x[i] += d_y[i]; d_y[i] = 0.0f; }"), "p");
    assert_eq!(kernel("if (i < n) { let r: float = d_y[i]; d_y[i] = 0.0f; d_y[i] += 1.0f; }"), "p");
    // Nobody took what it held: a constant was stored, and many threads may store the same one.
    assert_eq!(kernel("if (i < n) { d_y[i] = 0.0f; d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (i < n) { let r: float = d_y[(i + 1)]; d_y[i] = 0.0f; d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (i < n) { d_y[i] = 0.0f; } if (i < m) { d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (i < n) { d_y[(i / 2)] = 0.0f; d_x[(i / 2)] += 1.0f; d_x[i] += 1.0f; }"), "aa");
}

#[test]
fn only_threads_that_store_own() {
    assert_eq!(kernel("if (i < n) { y[i] = x[i]; } if (i < m) { d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (i < n) { y[i] = x[i]; } else { d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (i < n) { y[i] = x[i]; } else { y[i] = 0.0f; } d_x[i] += 1.0f;"), "a");
    assert_eq!(
        kernel(
            "if (i < n) { y[i] = x[i]; } else { y[i] = x[0]; } if (n <= i) { d_x[i] += 1.0f; } else { d_x[i] += 1.0f; }"
        ),
        "pp"
    );
    assert_eq!(kernel("if (!(i >= n) && (m > i)) { y[i] = x[i]; } if ((i < m) && (i < n)) { d_x[i] += 1.0f; }"), "p");
    // A condition that may have changed in between.
    assert_eq!(kernel("let k: int = n; if (i < k) { y[i] = x[i]; } k = m; if (i < k) { d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("if (x[i] > 0.0f) { y[i] = x[i]; } if (x[i] > 0.0f) { d_x[i] += 1.0f; }"), "p");
    assert_eq!(kernel("if (y[i] > 0.0f) { y[i] = x[i]; } if (y[i] > 0.0f) { d_x[i] += 1.0f; }"), "a");
    assert_eq!(kernel("let c: bool = (y[i] > 0.0f); if c { y[i] = x[i]; } if c { d_x[i] += 1.0f; }"), "p");
}

#[test]
fn all_additions_to_an_array_must_fit_together() {
    assert_eq!(kernel("y[i] = x[i]; d_x[i] += 1.0f; d_x[(i + 1)] += 1.0f;"), "aa");
    assert_eq!(kernel("y[i] = x[i]; d_x[(i + 1)] += 1.0f; d_x[(i + 1)] += 1.0f;"), "pp");
    assert_eq!(kernel("y[i] = x[i]; d_x[(i + n)] += 1.0f;"), "p");
    assert_eq!(kernel("y[i] = x[i]; d_x[(i + n)] += 1.0f; d_x[i] += 1.0f;"), "aa");
    let three = |stride| format!("y[i] = x[i]; d_x[({stride} * i)] += 1.0f; d_x[(({stride} * i) + 2)] += 1.0f;");
    assert_eq!(kernel(&three(3)), "pp");
    assert_eq!(kernel(&three(2)), "aa");
    assert_eq!(kernel(&three(-3)), "pp");
    assert_eq!(kernel("y[i] = x[i]; d_x[i] += 1.0f; d_x[(2 * i)] += 1.0f;"), "aa");
    // One that is not understood spoils the others; other arrays stay as they are.
    assert_eq!(kernel("y[i] = x[i]; d_x[i] += 1.0f; d_x[idx[i]] += 1.0f; d_y[i] += 1.0f;"), "aap");
}

#[test]
fn what_determines_the_stored_index_is_owned() {
    assert_eq!(kernel("y[(2 * i)] = x[i]; d_x[i] += 1.0f;"), "p");
    assert_eq!(kernel("y[idx[i]] = x[i]; d_x[i] += 1.0f;"), "p");
    assert_eq!(kernel("y[(i / 2)] = x[i]; d_x[i] += 1.0f;"), "p");
    // But not the other way round.
    assert_eq!(kernel("y[i] = x[i]; d_x[(i / 2)] += 1.0f;"), "a");
    assert_eq!(kernel("y[i] = x[i]; d_x[idx[i]] += 1.0f;"), "a");
    assert_eq!(kernel("y[(i + (threadIdx.y as int))] = x[i]; d_x[i] += 1.0f;"), "a");
    // A constant index: one thread alone stores.
    assert_eq!(kernel("if (i == 0) { y[0] = x[0]; d_x[n] += 1.0f; d_x[m] += 1.0f; }"), "pp");
    assert_eq!(kernel("if (i == 0) { y[0] = x[0]; } d_x[n] += 1.0f;"), "a");
    assert_eq!(kernel("if (i < n) { y[(blockIdx.x as int)] = x[0]; d_x[(blockIdx.x as int)] += 1.0f; }"), "p");
}

#[test]
fn pointers_are_followed() {
    assert_eq!(
        kernel("y[i] = x[i]; let p: float* = (d_x + (3 * i)); p[0] += 1.0f; p[2] += 1.0f; d_x[((3 * i) + 1)] += 1.0f;"),
        "ppp"
    );
    assert_eq!(kernel("y[i] = x[i]; let p: float* = (d_x + (3 * i)); p[0] += 1.0f; p[3] += 1.0f;"), "aa");
    assert_eq!(kernel("let p: float* = d_x; if (i < n) { p = d_y; } y[i] = x[i]; p[i] += 1.0f;"), "a");
    assert_eq!(kernel("let t: float = 0.0f; let p: float* = &t; p[0] += 1.0f; t += 1.0f;"), "pp");
    assert_eq!(kernel("let t: float = 0.0f; let p: float* = &t; if (i < n) { p = d_x; } *p += 1.0f;"), "a");
    // A pointer of another type may be to part of two elements.
    assert_eq!(kernel("y[i] = x[i]; let p: float* = ((d_x as double*) as float*); p[i] += 1.0f;"), "a");
}

#[test]
fn wrapping_is_not_forgotten() {
    let unsigned = "let u: unsigned int = ((blockIdx.x * blockDim.x) + threadIdx.x); y[u] = x[u];";
    assert_eq!(kernel(&format!("{unsigned} d_x[u] += 1.0f;")), "p");
    assert_eq!(kernel(&format!("{unsigned} d_x[(3u * u)] += 1.0f;")), "a");
    assert_eq!(kernel(&format!("{unsigned} d_x[(3ul * (u as unsigned long))] += 1.0f;")), "p");
    assert_eq!(kernel("y[i] = x[i]; d_x[((i as char) as int)] += 1.0f;"), "a");
    assert_eq!(kernel("y[((i as char) as int)] = x[i]; d_x[i] += 1.0f;"), "p");
}

#[test]
fn loops_are_matched_with_their_mirror_images() {
    let forward = "for j: int = 0; j < m; j += 1 { y[((i * m) + j)] = x[i]; }";
    let add = "d_x[((i * m) + k)] += 1.0f;";
    assert_eq!(kernel(&format!("{forward} for k: int = (m - 1); k >= 0; k -= 1 {{ {add} }}")), "p");
    assert_eq!(kernel(&format!("{forward} for k: int = 0; k < m; k += 1 {{ {add} }}")), "p");
    assert_eq!(kernel(&format!("{forward} for k: int = m; k >= 0; k -= 1 {{ {add} }}")), "a");
    assert_eq!(kernel(&format!("{forward} for k: int = 0; k <= m; k += 1 {{ {add} }}")), "a");
    assert_eq!(kernel(&format!("{forward} for k: int = (m - 1); k > 0; k -= 1 {{ {add} }}")), "a");
    // An unsigned bound below the start ends the one loop at once, and not the other.
    let forward = "let u: unsigned int = threadIdx.x; for j: unsigned int = 1u; j < u; j += 1u { y[(j + u)] = x[0]; }";
    let back = "for k: unsigned int = (u - 1u); k >= 1u; k -= 1u { d_x[(k + u)] += 1.0f; }";
    assert_eq!(kernel(&format!("{forward} {back}")), "a");
    // A loop that may not run owns nothing outside.
    assert_eq!(kernel("for j: int = 0; j < m; j += 1 { y[i] = x[i]; } d_x[i] += 1.0f;"), "a");
    assert_eq!(
        kernel("for j: int = 0; j < m; j += 1 { y[i] = x[i]; } for k: int = 0; k < m; k += 1 { d_x[i] += 1.0f; }"),
        "p"
    );
}

#[test]
fn grid_strides_are_matched() {
    let stride = "let s: int = ((gridDim.x * blockDim.x) as int);";
    let forward = "for j: int = i; j < n; j += s { y[j] = x[j]; }";
    let back = "for k: int = (i + (((((n - i) + s) - 1) / s) - 1)); k >= i; k -= s { d_x[k] += 1.0f; }";
    assert_eq!(kernel(&format!("{stride} {forward} {back}")), "a");
    let back = "for k: int = (i + ((((((n - i) + s) - 1) / s) - 1) * s)); k >= i; k -= s { d_x[k] += 1.0f; }";
    assert_eq!(kernel(&format!("{stride} {forward} {back}")), "p");
    // The iterations are numbered, from the last to the first.
    let numbered = |count: &str| {
        let element = "let e: int = (i + ((k - 1) * s));";
        format!("{stride} {forward} for k: int = {count}; k > 0; k -= 1 {{ {element} d_x[e] += 1.0f; }}")
    };
    assert_eq!(kernel(&numbered("((i < n) ? ((((n - i) - 1) / s) + 1) : 0)")), "p");
    assert_eq!(kernel(&numbered("((((n - i) - 1) / s) + 1)")), "a");
    assert_eq!(kernel(&numbered("((i < n) ? (((n - i) / s) + 1) : 0)")), "a");
    let unsigned = "let u: unsigned int = threadIdx.x; for j: unsigned int = 0u; j < u; j += 1u { y[(j + u)] = x[0]; }
        for k: unsigned int = ((0u < u) ? ((((u - 0u) - 1u) / 1u) + 1u) : 0u); k > 0u; k -= 1u {
          let e: unsigned int = (k - 1u); d_x[(e + u)] += 1.0f; }";
    assert_eq!(kernel(unsigned), "p");
    // Under no names: the stride is a factor of two terms.
    let [from, by] = ["(((blockIdx.x * blockDim.x) + threadIdx.x) as int)", "((blockDim.x * gridDim.x) as int)"];
    let unnamed = |factor: &str| {
        let count = format!("(({from} < n) ? ((((n - {from}) - 1) / {by}) + 1) : 0)");
        let element = format!("let e: int = ({from} + ((k - 1) * {factor}));");
        format!(
            "for j: int = {from}; j < n; j += {by} {{ y[j] = x[j]; }}
             for k: int = {count}; k > 0; k -= 1 {{ {element} d_x[e] += 1.0f; }}"
        )
    };
    assert_eq!(kernel(&unnamed(by)), "p");
    assert_eq!(kernel(&unnamed("(blockDim.x as int)")), "a");
    let same = "for k: int = i; k < n; k += s { d_x[k] += 1.0f; d_y[k] += 1.0f; }";
    assert_eq!(kernel(&format!("{stride} {forward} {same}")), "pp");
    let other = "for k: int = i; k < n; k += 1 { d_x[k] += 1.0f; }";
    assert_eq!(kernel(&format!("{stride} {forward} {other}")), "a");
}

#[test]
fn rows_of_an_owner_are_owned() {
    let row = |bound| format!("y[i] = x[i]; for k: int = 0; k < {bound}; k += 1 {{ d_x[((i * m) + k)] += 1.0f; }}");
    assert_eq!(kernel(&row("m")), "p");
    assert_eq!(kernel(&row("n")), "a");
    assert_eq!(kernel(&row("(m + 1)")), "a");
    assert_eq!(kernel("y[i] = x[i]; for k: int = 0; k < 8; k += 1 { d_x[((i * 8) + k)] += 1.0f; }"), "p");
    assert_eq!(kernel("y[i] = x[i]; for k: int = 0; k < 9; k += 1 { d_x[((i * 8) + k)] += 1.0f; }"), "a");
    assert_eq!(kernel("y[i] = x[i]; for k: int = 7; k >= 0; k -= 1 { d_x[((i * 8) + k)] += 1.0f; }"), "p");
    // A column is every thread's.
    assert_eq!(kernel("y[i] = x[i]; for k: int = 0; k < m; k += 1 { d_x[k] += 1.0f; }"), "a");
}

#[test]
fn columns_of_an_owner_are_owned() {
    let column = |guard: &str, index: &str| {
        let head = "for k: int = 0; k < m; k += 1";
        format!("if {guard} {{ y[i] = x[i]; {head} {{ d_x[{index}] += 1.0f; }} }}")
    };
    assert_eq!(kernel(&column("(i < n)", "((k * n) + i)")), "p");
    // Any plane, however it is found.
    assert_eq!(kernel(&column("(i < n)", "((idx[k] * n) + i)")), "p");
    // Planes that are closer together than the columns reach.
    assert_eq!(kernel(&column("(i < n)", "((k * m) + i)")), "a");
    assert_eq!(kernel(&column("(i <= n)", "((k * n) + i)")), "a");
    assert_eq!(kernel(&column("true", "((k * n) + i)")), "a");
    assert_eq!(kernel(&column("(i < n)", "(((k * n) + i) + k)")), "a");
    // All additions must be in such planes.
    let two = |index: &str| format!("if (i < n) {{ y[i] = x[i]; d_x[((m * n) + i)] += 1.0f; d_x[{index}] += 1.0f; }}");
    assert_eq!(kernel(&two("i")), "pp");
    assert_eq!(kernel(&two("((i + n) + n)")), "pp");
    assert_eq!(kernel(&two("(i + 1)")), "aa");
    assert_eq!(kernel(&two("(i + m)")), "aa");
    // Of an index that may be negative, a branch must say that it is not.
    let negative = |guard: &str| {
        format!("let j: int = (i - 4); if {guard} {{ y[j] = x[i]; d_x[((m * n) + j)] += 1.0f; d_x[j] += 1.0f; }}")
    };
    assert_eq!(kernel(&negative("(j < n)")), "aa");
    let loaded = |guard: &str| {
        format!("let j: int = idx[i]; if {guard} {{ y[j] = x[i]; d_x[((m * n) + j)] += 1.0f; d_x[j] += 1.0f; }}")
    };
    assert_eq!(kernel(&loaded("(j < n)")), "aa");
    assert_eq!(kernel(&loaded("((j >= 0) && (j < n))")), "pp");
    assert_eq!(kernel(&loaded("((j >= -1) && (j < n))")), "aa");
    // The bound is another one for each thread.
    assert_eq!(kernel("if (i < idx[i]) { y[i] = x[i]; d_x[i] += 1.0f; d_x[(i + idx[i])] += 1.0f; }"), "aa");
}

#[test]
fn barriers_end_what_a_store_tells() {
    assert_eq!(kernel("y[i] = x[i]; barrier block; d_x[i] += 1.0f;"), "p");
    let in_loop = |barrier| {
        format!(
            "for j: int = 0; j < m; j += 1 {{ y[i] = x[i]; {barrier} }} for k: int = 0; k < m; k += 1 {{ d_x[i] += 1.0f; }}"
        )
    };
    assert_eq!(kernel(&in_loop("")), "p");
    assert_eq!(kernel(&in_loop("barrier block;")), "a");
    let branches = |barrier| {
        format!(
            "if (i < n) {{ y[i] = x[0]; }} {barrier} if (n <= i) {{ y[i] = x[1]; }} if (i < n) {{ d_x[i] += 1.0f; }} else {{ d_x[i] += 1.0f; }}"
        )
    };
    assert_eq!(kernel(&branches("")), "pp");
    assert_eq!(kernel(&branches("barrier block;")), "aa");
    assert_eq!(kernel("y[i] = x[i]; barrier fence; d_x[i] += 1.0f;"), "a");
    assert_eq!(kernel("y[i] = x[i]; if (i < n) { return; } d_x[i] += 1.0f;"), "a");
}

#[test]
fn additions_to_shared_memory_meet_between_the_same_barriers_only() {
    let shared =
        "let shared t: float[256]; let shared d_t: float[256]; let j: unsigned int = threadIdx.x; t[j] = x[i];";
    assert_eq!(kernel(&format!("{shared} d_t[j] += 1.0f; d_t[(j + 1u)] += 1.0f;")), "aa");
    assert_eq!(kernel(&format!("{shared} d_t[j] += 1.0f; barrier block; d_t[(j + 1u)] += 1.0f;")), "pp");
    // In each iteration all threads are at the same distance, if they meet in it.
    let tree = |barrier: &str| {
        format!("{shared} for k: int = 5; k >= 0; k -= 1 {{ {barrier} d_t[(j + (1u << k))] += 1.0f; }}")
    };
    assert_eq!(kernel(&tree("barrier block;")), "p");
    assert_eq!(kernel(&tree("")), "a");
    // Past the barrier of an iteration, a thread may be in the next one already.
    let both = format!(
        "{shared} for k: int = 5; k >= 0; k -= 1 {{ d_t[(j + (1u << k))] += 1.0f; barrier block; d_t[j] += 1.0f; }}"
    );
    assert_eq!(kernel(&both), "aa");
    let step = "d_t[(j + (1u << k))] += 1.0f;";
    assert_eq!(kernel(&format!("{shared} for k: int = 5; k >= 0; k -= 1 {{ {step} barrier block; {step} }}")), "aa");
}

#[test]
fn shared_memory_is_of_one_block() {
    let shared = "let shared t: float[256]; let shared d_t: float[256]; let j: int = (threadIdx.x as int);";
    assert_eq!(kernel(&format!("{shared} t[j] = x[i]; d_t[j] += 1.0f;")), "p");
    // What tells threads of a block apart does not tell those of the grid apart.
    assert_eq!(kernel(&format!("{shared} t[j] = x[i]; d_x[j] += 1.0f;")), "a");
    // Where an adjoint is cleared, the primal stores: nobody else is there until the next barrier, or stores there at all.
    assert_eq!(kernel(&format!("{shared} let r: float = d_t[j]; d_t[j] = 0.0f; d_t[j] += 1.0f;")), "p");
    assert_eq!(kernel(&format!("{shared} let r: float = d_t[j]; d_t[j] = 0.0f; barrier block; d_t[j] += 1.0f;")), "p");
    // And so no two threads have the same `j`.
    assert_eq!(kernel(&format!("{shared} let r: float = d_t[j]; d_t[j] = 0.0f; d_t[(j + 1)] += 1.0f;")), "p");
    assert_eq!(kernel(&format!("{shared} let r: float = d_t[j]; d_t[j] = 0.0f; d_t[(j / 2)] += 1.0f;")), "a");
    assert_eq!(kernel(&format!("{shared} t[j] = x[i]; d_t[0] += 1.0f;")), "a");
}

#[test]
fn fields_are_parts_of_elements() {
    let records = "record V { x: float, y: float } record A { v: float[4] }";
    let decide = |body: &str| {
        decide(&parse(&format!(
            "{records} kernel k(p: const V*, q: V*, a: A*, d_p: V*, d_q: V*, d_a: A*, s: float[4]*, d_s: float[4]*, n: int) {{ {ID} {body} }}"
        )))
    };
    assert_eq!(decide("q[i].x = p[i].x; d_p[i].x += 1.0f; d_p[i].y += 1.0f;"), "pp");
    assert_eq!(decide("q[i].x = p[i].x; d_p[i].x += 1.0f; d_p[(i + 1)].y += 1.0f;"), "aa");
    assert_eq!(decide("a[0].v[i] = p[0].x; d_p[0].x += 1.0f;"), "a");
    assert_eq!(decide("a[i].v[2] = p[0].x; d_p[i].x += 1.0f;"), "p");
    assert_eq!(decide("s[i][1] = p[0].x; d_s[i][1] += 1.0f; d_s[i][3] += 1.0f;"), "pp");
    assert_eq!(decide("s[i][1] = p[0].x; d_s[i][1] += 1.0f; d_s[i][5] += 1.0f;"), "aa");
}

#[test]
fn pointers_in_records_are_arrays_of_their_parameter() {
    let records = "record S { a: float*, b: float*, n: int }";
    let decide = |body: &str| {
        decide(&parse(&format!("{records} kernel k(s: S, d_s: S*, y: float*, d_y: float*) {{ {ID} {body} }}")))
    };
    assert_eq!(decide("if (i < s.n) { y[i] = s.a[i]; } if (i < s.n) { d_s->a[i] += 1.0f; }"), "p");
    assert_eq!(decide("if (i < s.n) { y[i] = s.a[i]; d_s->a[i] += 1.0f; d_s->b[i] += 1.0f; }"), "aa");
    assert_eq!(decide("y[i] = s.a[i]; d_s->a = y; d_s->a[i] += 1.0f;"), "a");
}

#[test]
fn calls_may_add_too() {
    let callee = "device f(p: float*, q: const float*) { *p = *q; }";
    let decide = |body: &str| decide(&parse(&format!("{callee} kernel k({PARAMS}) {{ {ID} {body} }}")));
    assert_eq!(decide("y[i] = x[i]; d_x[i] += 1.0f; call f(d_y, x);"), "p");
    assert_eq!(decide("y[i] = x[i]; d_x[i] += 1.0f; call f(d_x, x);"), "a");
    // So do atomics of the program.
    assert_eq!(decide("y[i] = x[i]; d_x[i] += 1.0f; atomic add(d_y[0], 1.0f);"), "p");
    assert_eq!(decide("y[i] = x[i]; d_x[i] += 1.0f; atomic add(d_x[0], 1.0f);"), "a");
}

#[test]
fn const_is_no_promise_of_a_function() {
    let callees = "device total: int;
        device f(p: const float*) { *(p as float*) = 1.0f; }
        device g(p: const float*) -> float { return *p; }
        device h() { total = 3; }";
    let decide = |body: &str| decide(&parse(&format!("{callees} kernel k({PARAMS}) {{ {ID} {body} }}")));
    assert_eq!(decide("y[i] = x[i]; d_x[i] += 1.0f; call f((d_x as const float*));"), "a");
    assert_eq!(decide("y[i] = x[i]; let t: float; t = call g((d_x as const float*)); d_x[i] += 1.0f;"), "p");
    // A variable that it changes is not what it was.
    let guarded = |between| format!("if (i < total) {{ y[i] = x[i]; }} {between} if (i < total) {{ d_x[i] += 1.0f; }}");
    assert_eq!(decide(&guarded("")), "p");
    assert_eq!(decide(&guarded("call h();")), "a");
}

#[test]
fn a_variable_whose_const_is_cast_away_may_change() {
    let index = |store: &str| kernel(&format!("let k: int = i; {store} y[i] = x[i]; d_x[k] += 1.0f;"));
    assert_eq!(index("let p: const int* = &const k; let o: int = *p;"), "p");
    assert_eq!(index("let p: const int* = &const k; *(p as int*) = (i / 2);"), "a");
}

#[test]
fn a_constant_now_and_an_active_value_later() {
    // Many threads may store the constant.
    let later = "t = x[i]; d_x[(i / 2)] += t;";
    assert_eq!(kernel(&format!("let t: float = 1.0f; y[(i / 2)] = t; {later}")), "a");
    assert_eq!(kernel(&format!("let t: float = x[0]; y[(i / 2)] = t; {later}")), "p");
    assert_eq!(kernel(&format!("let t: float = x[0]; t = 1.0f; y[(i / 2)] = t; {later}")), "a");
    // Nor does it tell anything that the adjoint is taken.
    let taken = "let r: float = d_y[(i / 2)]; d_y[(i / 2)] = 0.0f;";
    assert_eq!(kernel(&format!("let t: float = 1.0f; y[(i / 2)] = t; {later} {taken}")), "a");
    assert_eq!(kernel(&format!("let t: float = x[0]; {later} {taken}")), "p");
    // What a loop or a branch may have made of it.
    let store = "y[i] = t; d_x[i] += 1.0f;";
    assert_eq!(
        kernel(&format!("let t: float = 0.0f; for j: int = 0; j < n; j += 1 {{ t = (t + x[j]); }} {store}")),
        "p"
    );
    assert_eq!(kernel(&format!("let t: float = 0.0f; if (i < n) {{ t = x[i]; }} else {{ t = 2.0f; }} {store}")), "p");
    let loops =
        "let t: float = 1.0f; for j: int = i; j < n; j += m { y[(j / 2)] = t; t = x[j]; d_x[(j / 2)] += 1.0f; }";
    assert_eq!(kernel(loops), "p");
}

#[test]
fn what_orders_threads_otherwise_hides_who_owns() {
    let other = |body: &str| {
        decide(&parse(&format!("kernel k({PARAMS}, count: int*, v: volatile float*) {{ {ID} let old: int; {body} }}")))
    };
    assert_eq!(other("y[i] = x[i]; atomic add(*count, 1); d_x[i] += 1.0f;"), "p");
    assert_eq!(other("y[i] = x[i]; old = atomic add(*count, 1); d_x[i] += 1.0f;"), "a");
    assert_eq!(other("y[i] = x[i]; let t: float = v[i]; d_x[i] += 1.0f;"), "a");
    // So does a function that is called.
    let called = |callee: &str| {
        decide(&parse(&format!("{callee} kernel k({PARAMS}) {{ {ID} y[i] = x[i]; call f(); d_x[i] += 1.0f; }}")))
    };
    assert_eq!(called("device f() { let t: int = 0; t = 1; }"), "p");
    assert_eq!(called("device f() { barrier block; }"), "a");
}

#[test]
fn counters_of_loops_that_threads_run_unevenly_are_not_one_number() {
    let shared =
        "let shared t: float[256]; let shared d_t: float[256]; let j: unsigned int = threadIdx.x; t[j] = x[i];";
    let tree = |head: &str| format!("{shared} for k: int = {head} {{ barrier block; d_t[(j + (1u << k))] += 1.0f; }}");
    assert_eq!(kernel(&tree("5; k >= 0; k -= 1")), "p");
    assert_eq!(kernel(&tree("n; k >= 0; k -= 1")), "p");
    // They begin with different numbers, and meet; or go on by different ones.
    assert_eq!(kernel(&tree("(j as int); k >= (i - 4); k -= 1")), "a");
    assert_eq!(kernel(&tree("0; k < n; k += (1 + (j as int))")), "a");
    // The barrier is not in every iteration.
    let some = "for k: int = 5; k >= 0; k -= 1 { if (n < k) { barrier block; } d_t[(j + (1u << k))] += 1.0f; }";
    assert_eq!(kernel(&format!("{shared} {some}")), "a");
}

#[test]
fn dynamic_shared_memory_of_two_names_is_one() {
    let dynamic = |body: &str| {
        kernel(&format!(
            "let dynamic t: float[0]; let dynamic d_t: float[0]; let j: unsigned int = threadIdx.x; {body}"
        ))
    };
    assert_eq!(dynamic("t[j] = x[i]; d_t[j] += 1.0f;"), "p");
    let other = "let dynamic u: float[0]; u[(j + 1u)] += 1.0f;";
    assert_eq!(dynamic(&format!("t[j] = x[i]; d_t[j] += 1.0f; {other}")), "aa");
}

#[test]
fn device_functions_know_nothing_about_their_pointers() {
    let device = parse(&format!("device k({PARAMS}) {{ y[0] = 1.0f; d_x[0] += 1.0f; }}"));
    assert_eq!(decide(&device), "a");
    let host = parse(&format!("host k({PARAMS}) {{ d_x[0] += 1.0f; }}"));
    assert_eq!(decide(&host), "p");
}

#[test]
fn coordinates_are_digits() {
    let long = |name: &str| format!("({name} as unsigned long)");
    let [tx, ty, tz] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"].map(long);
    let [bx, by, bz] = ["blockIdx.x", "blockIdx.y", "blockIdx.z"].map(long);
    let [nx, ny, nz] = ["blockDim.x", "blockDim.y", "blockDim.z"].map(long);
    let [gx, gy] = ["gridDim.x", "gridDim.y"].map(long);
    let block = format!("({bx} + ({gx} * ({by} + ({gy} * {bz}))))");
    let thread = |block: &str| format!("({tx} + ({nx} * ({ty} + ({ny} * ({tz} + ({nz} * {block}))))))");
    assert_eq!(kernel(&format!("d_x[{}] += 1.0f;", thread(&block))), "p");
    assert_eq!(kernel(&format!("d_x[{}] += 1.0f;", thread(&bx))), "a");
    let element = |offset: &str| format!("d_x[((4ul * {}) + {offset})] += 1.0f;", thread(&block));
    assert_eq!(kernel(&format!("{}{}", element("0ul"), element("3ul"))), "pp");
    assert_eq!(kernel(&format!("{}{}", element("0ul"), element("4ul"))), "aa");
}

#[test]
fn stores_of_whole_blocks_are_found() {
    let found = |body: &str| {
        let module = parse(&format!("kernel k({PARAMS}) {{ {ID} {body} }}"));
        stores_of_whole_blocks(&module, FunctionId(0)).len()
    };
    assert_eq!(found("y[blockIdx.x] = 1.0f;"), 1);
    assert_eq!(found("y[0] = 1.0f;"), 1);
    assert_eq!(found("if ((blockIdx.x as int) < n) { y[blockIdx.x] = 1.0f; }"), 1);
    assert_eq!(found("for k: int = 0; k < m; k += 1 { y[k] = 1.0f; }"), 1);
    assert_eq!(found("if (threadIdx.x == 0u) { y[blockIdx.x] = 1.0f; }"), 0);
    assert_eq!(found("if (i == 0) { y[0] = 1.0f; }"), 0);
    assert_eq!(found("y[i] = 1.0f;"), 0);
    assert_eq!(found("for k: int = i; k < m; k += 1 { y[0] = 1.0f; }"), 0);
    assert_eq!(found("if (i > 0) { return; } y[0] = 1.0f;"), 0);
    assert_eq!(found("let t: float = 0.0f; t = 1.0f;"), 0);
    // Launches of one thread.
    assert_eq!(found("if (n == 1) { y[0] = 1.0f; }"), 0);
    assert_eq!(found("if (((blockIdx.x + blockDim.x) as int) == 1) { y[0] = 1.0f; }"), 0);
    let whole = |text: &str| stores_of_whole_blocks(&parse(text), FunctionId(0)).len();
    assert_eq!(whole("kernel k(y: float*, n: int) { y[blockIdx.x] = 1.0f; }"), 0);
    // A function's pointers are not the same for all threads.
    assert_eq!(whole("device f(y: float*) { let i: unsigned int = threadIdx.x; y[0] = 1.0f; }"), 0);
    // An element of an array in the element, of the thread.
    let record = "record A { v: float[4] } kernel k(a: A*)";
    assert_eq!(whole(&format!("{record} {{ a[0].v[threadIdx.x] = 1.0f; }}")), 0);
    assert_eq!(whole(&format!("{record} {{ a[0].v[1] = (threadIdx.x as float); }}")), 1);
}

#[test]
fn what_contradicts_the_premise_proves_nothing() {
    assert_eq!(kernel("y[0] = 1.0f; d_x[n] += 1.0f;"), "a");
    assert_eq!(kernel("y[0] = x[0]; d_x[n] += 1.0f;"), "a");
    assert_eq!(kernel("if (i == 0) { y[0] = x[0]; d_x[n] += 1.0f; }"), "p");
    // A block of one thread, as far as can be known.
    assert_eq!(decide(&parse(&format!("kernel k({PARAMS}) {{ y[0] = x[0]; d_x[n] += 1.0f; }}"))), "p");
}

#[test]
fn results_of_functions_are_stored() {
    let callee = "device f(p: const float*) -> float { return *p; }";
    let decide = |body: &str| decide(&parse(&format!("{callee} kernel k({PARAMS}) {{ {ID} {body} }}")));
    assert_eq!(decide("if (i < n) { y[i] = call f((x + i)); d_x[i] += 1.0f; }"), "p");
    assert_eq!(decide("if (i < n) { y[i] = call f((x + i)); } d_x[i] += 1.0f;"), "a");
    assert_eq!(decide("if (i < n) { y[i] = call f((x + i)); d_x[(i / 2)] += 1.0f; }"), "a");
    assert_eq!(decide("if (i < n) { let t: float; t = call f((x + i)); d_x[i] += 1.0f; }"), "a");
}

#[test]
fn what_many_threads_may_store_proves_nothing() {
    // A flag, a mark, a constant, a value that is not active.
    let flag = |store: &str| kernel(&format!("if (x[i] > 0.0f) {{ {store} d_x[n] += 1.0f; }}"));
    assert_eq!(flag("y[0] = x[i];"), "p");
    assert_eq!(flag("y[0] = 1.0f;"), "a");
    let other =
        |body: &str| decide(&parse(&format!("kernel k({PARAMS}, flags: int*, c: const float*) {{ {ID} {body} }}")));
    assert_eq!(other("if (i < n) { flags[i] = 1; d_x[i] += 1.0f; }"), "a");
    assert_eq!(other("if (i < n) { y[i] = c[i]; d_x[i] += 1.0f; }"), "a");
    assert_eq!(other("if (i < n) { y[i] = (c[i] * x[i]); d_x[i] += 1.0f; }"), "p");
    assert_eq!(other("let t: float = x[i]; if (i < n) { y[i] = t; d_x[i] += 1.0f; }"), "p");
}

#[test]
fn barriers_of_a_warp_end_what_a_store_tells() {
    let shared = "let shared t: float[256]; let shared d_t: float[256]; let j: int = (threadIdx.x as int);";
    let warp = "barrier warp(4294967295u);";
    let take = "let r: float = d_t[(j + 1)]; d_t[(j + 1)] = 0.0f;";
    assert_eq!(kernel(&format!("{shared} d_t[(j + 1)] += 1.0f; {take}")), "p");
    assert_eq!(kernel(&format!("{shared} t[j] = x[i]; d_t[j] += 1.0f; d_t[(j + 1)] += 1.0f; {warp} {take}")), "aa");
    // Some threads store before they meet the others, some after it.
    let uneven =
        |first: &str| format!("{shared} if {first} {{ {warp} }} t[(j / 2)] = x[i]; {warp} d_t[(j / 2)] += 1.0f;");
    assert_eq!(kernel(&uneven("(j < 16)")), "a");
    assert_eq!(kernel(&uneven("(n < 16)")), "p");
}
