//! Tests of forward mode on the text form. That tangents are right is shown by the gradient checks of the fixtures; here
//! is what they look like, and what is refused.

use expect_test::{Expect, expect};

use crate::ir::{Module, text, validate};
use crate::transform::{Request, forward};

fn request(module: &Module, function: &str, wrt: &str) -> Request {
    let id = module.function(function).expect("the function is there");
    let function = &module.functions[id];
    let named = |name: &str| {
        let is_it = |param: &&crate::ir::LocalId| function.local_name(**param) == name;
        *function.params.iter().find(is_it).expect("the parameter is there")
    };
    Request::of(id, wrt.split(", ").map(named).collect())
}

fn check(source: &str, function: &str, wrt: &str, expected: Expect) {
    let module = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    assert_eq!(validate(&module), Ok(()));
    let made = forward(&module, &request(&module, function, wrt)).unwrap_or_else(|found| panic!("{found:#?}"));
    let printed = text::print(&made);
    assert_eq!(validate(&made), Ok(()), "{printed}");
    expected.assert_eq(&printed);
}

fn refused(source: &str, function: &str, wrt: &str, expected: Expect) {
    let module = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let found = forward(&module, &request(&module, function, wrt)).expect_err("it is refused");
    let lines = found.iter().map(|found| {
        format!("{}: {}\n  help: {}\n", found.code.id, found.message, found.help.as_deref().unwrap_or("none"))
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_kernel_with_pointers_and_a_value() {
    check(
        "kernel saxpy(n: int, a: float, x: const float* restrict, y: float*) bounds 256 {
           let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);
           if (i >= n) { return; }
           let t: float = (x[i] / (a - y[i]));
           y[i] = ((a * t) + expf(-y[i]));
         }",
        "saxpy",
        "y, x, a",
        expect![[r#"
            kernel saxpy_pushforward(n: int, a: float, x: const float* restrict, y: float*, _d_y: float*, _d_x: float*, _d_a: float) bounds 256 {
              let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);
              if (i >= n) {
                return;
              }
              let _d_t: float = ((_d_x[i] - ((x[i] / (a - y[i])) * (_d_a - _d_y[i]))) / (a - y[i]));
              let t: float = (x[i] / (a - y[i]));
              _d_y[i] = (((_d_a * t) + (a * _d_t)) + (expf(-y[i]) * -_d_y[i]));
              y[i] = ((a * t) + expf(-y[i]));
            }
        "#]],
    );
}

#[test]
fn calls_have_one_version_for_each_pattern() {
    check(
        "device square(x: float) -> float { return (x * x); }
         device scale(x: float, out: float*, by: float) { *out = (x * by); }
         device other(x: float) -> float { return x; }
         kernel k(x: float*, w: float) {
           let a: float; let b: float; let c: float; let d: float;
           a = call square(x[0]);
           b = call square(w);
           call scale(a, &c, b);
           call scale(w, &d, a);
           x[1] = call square((c + d));
           a = call square(w);
         }",
        "k",
        "x",
        expect![[r#"
            device square_pushforward(x: float, _d_x: float, _d_result: float*) -> float {
              *_d_result = ((_d_x * x) + (x * _d_x));
              return (x * x);
            }

            device square(x: float) -> float {
              return (x * x);
            }

            device scale_pushforward_0_1(x: float, out: float*, by: float, _d_x: float, _d_out: float*) {
              *_d_out = (_d_x * by);
              *out = (x * by);
            }

            device scale_pushforward_1_2(x: float, out: float*, by: float, _d_out: float*, _d_by: float) {
              *_d_out = (x * _d_by);
              *out = (x * by);
            }

            kernel k_pushforward_0(x: float*, w: float, _d_x: float*) {
              let _d_a: float;
              let a: float;
              let b: float;
              let _d_c: float;
              let c: float;
              let _d_d: float;
              let d: float;
              a = call square_pushforward(*x, *_d_x, &_d_a);
              b = call square(w);
              call scale_pushforward_0_1(a, &c, b, _d_a, &_d_c);
              call scale_pushforward_1_2(w, &d, a, &_d_d, _d_a);
              let _d_t: float;
              x[1] = call square_pushforward((c + d), (_d_c + _d_d), &_d_t);
              _d_x[1] = _d_t;
              a = call square(w);
              _d_a = 0.0f;
            }
        "#]],
    );
}

#[test]
fn pointers_references_records_and_arrays_have_shadows() {
    check(
        "record V { x: float, n: int, y: float }
         record View { data: const float*, scale: float, count: int }
         device add(v: V&, w: const V&) { (*v).x = ((*v).x + (*w).x); }
         device first(view: View) -> const float& { return &const ref view.data[0]; }
         kernel k(in: View, out: V*, c: float) {
           let v: V = make V(in.data[1], 3, c);
           let r: float& = &ref v.y;
           let a: float[2][2] = make float[2][2](make float[2](c, in.scale));
           let p: float* = &a[1][0];
           p = (p + 1);
           *p = *r;
           c = (c * *p);
           let f: const float&;
           f = call first(in);
           v.n = 4;
           call add(&ref v, &const ref out[2]);
           out[0] = v;
           out[1] = ((c > 0.0f) ? v : make V());
           let zero: V = make V(1.0f);
           out[3].x = (*f + zero.x);
         }",
        "k",
        "in, out",
        expect![[r#"
            record View { data: const float*, scale: float, count: int }
            record V { x: float, n: int, y: float }

            device first_pushforward(view: View, _d_view: View, _d_result: float**) -> const float& {
              *_d_result = (_d_view.data as float*);
              return &const ref *view.data;
            }

            device add_pushforward(v: V&, w: const V&, _d_v: V*, _d_w: V*) {
              _d_v->x = (_d_v->x + _d_w->x);
              v->x = (v->x + w->x);
            }

            kernel k_pushforward_0_1(in: View, out: V*, c: float, _d_in: View, _d_out: V*) {
              let _d_c: float = 0.0f;
              let _d_v: V = make V((_d_in.data as float*)[1], 0, _d_c);
              let v: V = make V(in.data[1], 3, c);
              let _d_r: float& = &ref _d_v.y;
              let r: float& = &ref v.y;
              let _d_a: float[2][2] = make float[2][2](make float[2](_d_c, _d_in.scale));
              let a: float[2][2] = make float[2][2](make float[2](c, in.scale));
              let _d_p: float* = &_d_a[1][0];
              let p: float* = &a[1][0];
              _d_p = (_d_p + 1);
              p = (p + 1);
              *_d_p = *_d_r;
              *p = *r;
              _d_c = ((_d_c * *p) + (c * *_d_p));
              c = (c * *p);
              let _d_f: float*;
              let f: const float&;
              f = call first_pushforward(in, _d_in, &_d_f);
              v.n = 4;
              call add_pushforward(&ref v, &const ref out[2], &_d_v, &_d_out[2]);
              *_d_out = _d_v;
              *out = v;
              _d_out[1] = ((c > 0.0f) ? _d_v : make V(0.0f, 0, 0.0f));
              out[1] = ((c > 0.0f) ? v : make V());
              let zero: V = make V(1.0f);
              _d_out[3].x = *_d_f;
              out[3].x = (*f + zero.x);
            }
        "#]],
    );
}

#[test]
fn control_stays_and_active_counters_step_with_their_shadows() {
    check(
        "kernel k(x: float*, step: float, n: int) {
           let sum: float = 0.0f;
           for t: float = x[0]; t < 2.0f; t += step {
             if (t > 1.0f) { continue; }
             sum = (sum + t);
           }
           for p: const float* = &const x[0]; p != &const x[n]; p += 1 {
             switch n {
               case 1 { sum = (sum * *p); break; }
               case default { continue; }
             }
           }
           while (sum > 1.0f) { sum = (sum * 0.5f); if (n == 3) { break; } }
           x[1] = ((sum as double) as float);
         }",
        "k",
        "x, step",
        expect![[r#"
            kernel k_pushforward(x: float*, step: float, n: int, _d_x: float*, _d_step: float) {
              let _d_sum: float = 0.0f;
              let sum: float = 0.0f;
              let _d_t: float = *_d_x;
              for t: float = *x; t < 2.0f; t += step {
                if (t > 1.0f) {
                  _d_t = (_d_t + _d_step);
                  continue;
                }
                _d_sum = (_d_sum + _d_t);
                sum = (sum + t);
                _d_t = (_d_t + _d_step);
              }
              let _d_p: float* = _d_x;
              for p: const float* = &const *x; p != &const x[n]; p += 1 {
                switch n {
                  case 1 {
                    _d_sum = ((_d_sum * *p) + (sum * *_d_p));
                    sum = (sum * *p);
                    break;
                  }
                  case default {
                    _d_p = (_d_p + 1);
                    continue;
                  }
                }
                _d_p = (_d_p + 1);
              }
              while (sum > 1.0f) {
                _d_sum = (_d_sum * 0.5f);
                sum = (sum * 0.5f);
                if (n == 3) {
                  break;
                }
              }
              _d_x[1] = ((_d_sum as double) as float);
              x[1] = ((sum as double) as float);
            }
        "#]],
    );
}

#[test]
fn threads_exchange_tangents_beside_values() {
    check(
        "kernel k(x: const float*, out: float*) {
           let shared tile: float[32];
           tile[threadIdx.x] = x[threadIdx.x];
           barrier block;
           let v: float;
           v = collective shuffle_down[4294967295u](tile[(31u - threadIdx.x)], 1u);
           atomic add(*out, (v * v));
           let n: unsigned int;
           n = collective active_mask();
         }",
        "k",
        "x, out",
        expect![[r#"
            kernel k_pushforward(x: const float*, out: float*, _d_x: float*, _d_out: float*) {
              let shared _d_tile: float[32];
              let shared tile: float[32];
              _d_tile[threadIdx.x] = _d_x[threadIdx.x];
              tile[threadIdx.x] = x[threadIdx.x];
              barrier block;
              let _d_v: float;
              let v: float;
              _d_v = collective shuffle_down[4294967295u](_d_tile[(31u - threadIdx.x)], 1u);
              v = collective shuffle_down[4294967295u](tile[(31u - threadIdx.x)], 1u);
              atomic add(*_d_out, ((_d_v * v) + (v * _d_v)));
              atomic add(*out, (v * v));
              let n: unsigned int;
              n = collective active_mask();
            }
        "#]],
    );
}

#[test]
fn names_that_are_in_use_are_left_alone() {
    check(
        "device f(x: float, _d_x: float) -> float { let y: float = (x * _d_x); return y; }",
        "f",
        "x, _d_x",
        expect![[r#"
            device f_pushforward(x: float, _d_x: float, _d_x_1: float, _d_d_x: float, _d_result: float*) -> float {
              let _d_y: float = ((_d_x_1 * _d_x) + (x * _d_d_x));
              let y: float = (x * _d_x);
              *_d_result = _d_y;
              return y;
            }
        "#]],
    );
}

#[test]
fn what_has_no_derivative_is_refused_with_a_way_out() {
    let scratch = "kernel k(x: float*, scratch: float*) { scratch[0] = x[0]; x[1] = scratch[0]; }";
    refused(
        scratch,
        "k",
        "x",
        expect![[r#"
        C0202: an active value is stored to `scratch`, which is constant
          help: name `scratch` too
    "#]],
    );
    let mixed = "kernel k(x: float*, w: const float*, b: bool) {
                   let p: const float* = (b ? (x as const float*) : w); x[1] = *p; }";
    refused(
        mixed,
        "k",
        "x",
        expect![[r#"
        C0203: a pointer may mean `x`, which has a derivative, and `w`, which is constant
          help: name `w` too, or choose between two values instead of two pointers
    "#]],
    );
    let through_a_call = "device put(to: float*, v: float) { *to = v; }
                          kernel k(x: const float*, out: float*, y: float*) { call put(out, x[0]); y[0] = out[0]; }";
    refused(
        through_a_call,
        "k",
        "x, y",
        expect![[r#"
        C0202: an active value is stored to `out`, which is constant
          help: name `out` too
    "#]],
    );
    let global = "device total: float; kernel k(x: float*) { total = x[0]; x[1] = total; }";
    refused(
        global,
        "k",
        "x",
        expect![[r#"
            C0202: an active value is stored to `total`, which is constant
              help: name `total` too
        "#]],
    );
}

#[test]
fn what_cannot_be_named_or_called_so_is_refused() {
    let bits = "kernel k(x: float*) { let p: int* = (x as int*); p[1] = p[0]; x[2] = nextafterf(x[0], 1.0f);
                  let i: int = __float_as_int::<int>(x[0]); }";
    refused(
        bits,
        "k",
        "x",
        expect![[r#"
            C0204: active memory is seen as another type
              help: point to the type that the memory has, or to a vector of it
            C0204: `nextafterf` has no derivative: the next number is a step of rounding, no function of the reals
              help: use another function here
            C0204: `__float_as_int` has no derivative: the bits of a number are an integer, which carries no derivative
              help: use another function here
        "#]],
    );
    refused(
        "kernel k(n: int) { }",
        "k",
        "n",
        expect![[r#"
        C0201: `n` has no floating value and cannot be named
          help: parameters of `k` that can be named: none
    "#]],
    );
    refused(
        "kernel k(x: float*) { x[0] = x[1]; } device k_pushforward() { }",
        "k",
        "x",
        expect![[r#"
        C0205: the name `k_pushforward` is taken
          help: rename what has it now
    "#]],
    );
    let old = "kernel k(x: float*) { let o: float; o = atomic add(*x, 1.0f); x[1] = o; }";
    refused(
        old,
        "k",
        "x",
        expect![[r#"
        C0204: the result of an atomic on active memory
          help: use the value that another kernel reads afterwards
    "#]],
    );
}

#[test]
fn constant_memory_and_none_need_one_function() {
    check(
        "device first(p: const float*, q: const float*) -> float { return (p[0] * p[0]); }
         kernel k(x: const float*, y: float*) {
           let c: float[1];
           c[0] = 1.0f;
           let a: float;
           a = call first(x, (&c[0] as const float*));
           let b: float;
           b = call first(x, null(const float*));
           *y = (a + b);
         }",
        "k",
        "x, y",
        expect![[r#"
            device first_pushforward_0(p: const float*, q: const float*, _d_p: float*, _d_result: float*) -> float {
              *_d_result = ((*_d_p * *p) + (*p * *_d_p));
              return (*p * *p);
            }

            kernel k_pushforward(x: const float*, y: float*, _d_x: float*, _d_y: float*) {
              let c: float[1];
              c[0] = 1.0f;
              let _d_a: float;
              let a: float;
              a = call first_pushforward_0(x, (&c[0] as const float*), _d_x, &_d_a);
              let _d_b: float;
              let b: float;
              b = call first_pushforward_0(x, null(const float*), _d_x, &_d_b);
              *_d_y = (_d_a + _d_b);
              *y = (a + b);
            }
        "#]],
    );
}

#[test]
fn a_choice_of_the_users_is_no_test_of_a_tangent() {
    check(
        "device f(x: float, n: int) -> float { return sqrtf(((n > 0) ? x : 0.0f)); }",
        "f",
        "x",
        expect![[r#"
        device f_pushforward(x: float, n: int, _d_x: float, _d_result: float*) -> float {
          *_d_result = ((((n > 0) ? _d_x : 0.0f) != 0.0f) ? ((0.5f / sqrtf(((n > 0) ? x : 0.0f))) * ((n > 0) ? _d_x : 0.0f)) : 0.0f);
          return sqrtf(((n > 0) ? x : 0.0f));
        }
    "#]],
    );
}

#[test]
fn a_pointer_to_what_is_left_out_leaves_out_all_that_it_points_to() {
    check(
        "device f(x: float, y: float*, n: int) -> float {
           let t: float = 0.0f;
           let p: float* = ((n > 0) ? y : &t);
           *p = x;
           return (x * x);
         }",
        "f",
        "x",
        expect![[r#"
            device f_pushforward_0(x: float, y: float*, n: int, _d_x: float, _d_result: float*) -> float {
              let t: float = 0.0f;
              let p: float* = ((n > 0) ? y : &t);
              *p = x;
              *_d_result = ((_d_x * x) + (x * _d_x));
              return (x * x);
            }
        "#]],
    );
}
