//! Conversions are printed where C++ makes none or another one; constants have their types.

use expect_test::expect;

use super::body;

#[test]
fn operands_of_operators() {
    let text = body(
        "device f(s: short, t: short, i: int, u: unsigned int, l: long, x: float, d: double) -> void {
           let promoted: int = ((s as int) + (t as int));
           let by_way_of_int: float = (x * ((s as int) as float));
           let direct: float = (x * (s as float));
           let widened: long = (l + (s as long));
           let wider_float: double = ((x as double) * d);
           let one_cast_left: float = ((i as float) / (i as float));
           let mixed_sign: unsigned int = ((i as unsigned int) + u);
           let truncated: int = ((x as int) + i);
           let compared: bool = ((i as unsigned int) < u);
           let negated: int = -(s as int);
           let shifted: unsigned long = ((u as unsigned long) << (s as int));
           let chosen: float = ((i > 0) ? (i as float) : x);
           let kept: short = ((i > 0) ? s : t);
         }",
    );
    expect![[r#"
        int promoted = s + t;
        float by_way_of_int = x * s;
        float direct = x * (float)s;
        long widened = l + s;
        double wider_float = x * d;
        float one_cast_left = (float)i / i;
        unsigned int mixed_sign = i + u;
        int truncated = (int)x + i;
        bool compared = i < u;
        int negated = -s;
        size_t shifted = (size_t)u << s;
        float chosen = i > 0 ? i : x;
        short kept = i > 0 ? s : t;
    "#]]
    .assert_eq(&text);
}

#[test]
fn initial_values_assignments_results_and_arguments() {
    let text = body(
        "device g(x: float, p: const float*) -> float { return x; }
         device f(i: int, x: float, d: double, p: float*, q: void*) -> double {
           let a: float = (d as float);
           let b: short = ((i + 1) as short);
           let c: bool = (i as bool);
           let v: void* = (p as void*);
           let w: float* = (q as float*);
           i = (x as int);
           let r: float;
           r = call g((i as float), (p as const float*));
           let twice: int = ((x as short) as int);
           return (r as double);
         }",
    );
    expect![[r#"
        float a = d;
        short b = i + 1;
        bool c = i;
        void* v = p;
        float* w = static_cast<float*>(q);
        i = x;
        float r = g(i, p);
        int twice = (short)x;
        return r;
    "#]]
    .assert_eq(&text);
}

#[test]
fn arguments_of_overloaded_functions_keep_their_casts() {
    let text = body(
        "device f(i: int, x: float, d: double) -> void {
           x = sqrtf((d as float));
           d = pow((i as double), 2.0);
           x = fmaxf(x, 1.0f);
         }",
    );
    expect![[r#"
        x = sqrtf((float)d);
        d = pow((double)i, 2.0);
        x = fmaxf(x, 1.0f);
    "#]]
    .assert_eq(&text);
}

#[test]
fn compound_assignment_computes_in_the_type_of_cpp() {
    let text = body(
        "device f(s: short, b: bool, i: int, u: unsigned int, x: float, d: double, p: float*) -> void {
           x = (x + (i as float));
           x = (((x as double) + d) as float);
           i = (((i as float) * x) as int);
           i = (i + (x as int));
           s = (((s as int) + i) as short);
           s = (((s as int) >> 1) as short);
           b = (((b as int) & (b as int)) as bool);
           i = (i + 1);
           u = (u - 1u);
           x = (x + 1.0f);
           u = (u % 3u);
           i = (2 + i);
           p = (p + 1);
           p = (p + -1);
           p = (p + i);
           p = (p + -(i));
           p[i] = (p[i] * 2.0f);
           p[i] = (p[u] * 2.0f);
         }",
    );
    expect![[r#"
        x += i;
        x += d;
        i *= x;
        i += (int)x;
        s += i;
        s >>= 1;
        b &= b;
        ++i;
        --u;
        x += 1.0f;
        u %= 3;
        i = 2 + i;
        ++p;
        --p;
        p += i;
        p -= i;
        p[i] *= 2.0f;
        p[i] = p[u] * 2.0f;
    "#]]
    .assert_eq(&text);
}

#[test]
fn constants() {
    let text = body(
        "device f(u: unsigned int, l: long, c: char, x: float) -> void {
           let a: int = -5;
           let b: int = -2147483648;
           let d: unsigned int = 4294967295u;
           let e: long = 5l;
           let g: char = 65c;
           u = ((u < 32u) ? 1u : u);
           u = (u & 3000000000u);
           l = (l + 1l);
           l = (1l << l);
           x = (-inff + 0x7ff8000000000000f);
           let h: double = inf;
           x = (x * (0.1f + 1e-8f));
           x = sqrtf((x - -(1.0f)));
           x = ldexpf(x, 3);
         }",
    );
    expect![[r#"
        int a = -5;
        int b = (int)0x80000000u;
        unsigned int d = 4294967295u;
        long e = 5;
        char g = 65;
        u = u < 32 ? 1 : u;
        u &= 3000000000u;
        ++l;
        l = 1L << l;
        x = -INFINITY + NAN;
        double h = (double)INFINITY;
        x *= 0.1f + 1e-8f;
        x = sqrtf(x - (-1.0f));
        x = ldexpf(x, 3);
    "#]]
    .assert_eq(&text);
}

#[test]
fn conditions_take_any_number_or_pointer() {
    let text = body(
        "device f(i: int, p: float*, b: bool) -> bool {
           if (i as bool) { return false; }
           if !((i & 1) as bool) { return false; }
           while ((p as bool) && b) { i = (i / 2); }
           return ((i as bool) ? b : !(p as bool));
         }",
    );
    expect![[r#"
        if (i) return false;
        if (!(i & 1)) return false;
        while (p && b) {
          i /= 2;
        }
        return i ? b : !p;
    "#]]
    .assert_eq(&text);
}

#[test]
fn braces_do_not_narrow() {
    let text = body(
        "record Pair { first: float, second: int }
         builtin record float3 { x: float, y: float, z: float }
         device f(i: int, s: short, x: float) -> void {
           let a: float[3] = make float[3]((i as float), x);
           let b: Pair = make Pair(x, (s as int));
           let c: long[2] = make long[2]((i as long), 7l);
           let d: float3 = make float3((i as float), x, 0.0f);
           let e: float3 = make float3(x);
           let g: float[2][2] = make float[2][2](make float[2](x, x), make float[2]());
           let h: Pair = make Pair();
           b = make Pair((i as float), i);
           d = make float3(x, x, x);
         }",
    );
    expect![[r#"
        float a[3] = {(float)i, x};
        Pair b = {x, s};
        long c[2] = {i, 7};
        float3 d = make_float3(i, x, 0.0f);
        float3 e = {x};
        float g[2][2] = {{x, x}, {}};
        Pair h = {};
        b = Pair{(float)i, i};
        d = make_float3(x, x, x);
    "#]]
    .assert_eq(&text);
}

#[test]
fn casts_between_pointers() {
    let text = body(
        "builtin record float4 { x: float, y: float, z: float, w: float }
         device f(p: float*, c: const float*, v: void*, r: float* restrict, n: unsigned long) -> void {
           let a: float4 = *(p as float4*);
           let b: float4 = (c as const float4*)[n];
           let d: float* = (c as float*);
           let e: float4* = (c as float4*);
           let g: float* = ((n as float*) + 1);
           n = (p as unsigned long);
           let h: float = *((p as const float*) + 1);
           let k: float* = ((r as float*) + 1);
           let m: bool = ((p as const float*) == c);
           let o: const float* = (m ? (p as const float*) : c);
           let q: float* = (m ? p : null(float*));
         }",
    );
    expect![[r#"
        float4 a = *reinterpret_cast<float4*>(p);
        float4 b = reinterpret_cast<const float4*>(c)[n];
        float* d = const_cast<float*>(c);
        float4* e = (float4*)c;
        float* g = reinterpret_cast<float*>(n) + 1;
        n = reinterpret_cast<size_t>(p);
        float h = *((const float*)p + 1);
        float* k = r + 1;
        bool m = p == c;
        const float* o = m ? p : c;
        float* q = m ? p : nullptr;
    "#]]
    .assert_eq(&text);
}

#[test]
fn half_is_never_converted_unasked() {
    let text = body(
        "device f(h: __half, x: float) -> void {
           let a: __half = (x as __half);
           x = (x + (h as float));
           h = (h * 1.5h);
         }",
    );
    expect![[r#"
        __half a = (__half)x;
        x += (float)h;
        h *= (__half)1.5f;
    "#]]
    .assert_eq(&text);
}
