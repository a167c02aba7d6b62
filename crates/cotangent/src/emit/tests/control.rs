//! Statements with bodies, parentheses, and long lines.

use expect_test::expect;

use super::body;

#[test]
fn branches() {
    let text = body(
        "device f(i: int, n: int) -> int {
           if (i >= n) { return 0; }
           if (i == 0) { i = 1; }
           if (i == 1) { i = 2; } else if (i == 2) { return 3; } else if (i == 3) { i = 4; } else { i = 5; }
           if (i == 4) { } else { i = 6; }
           return i;
         }",
    );
    expect![[r#"
        if (i >= n) return 0;
        if (i == 0) {
          i = 1;
        }
        if (i == 1) {
          i = 2;
        } else if (i == 2) {
          return 3;
        } else if (i == 3) {
          i = 4;
        } else {
          i = 5;
        }
        if (i == 4) {
        } else {
          i = 6;
        }
        return i;
    "#]]
    .assert_eq(&text);
}

#[test]
fn loops() {
    let text = body(
        "device f(n: int, p: float*) -> void {
           for i: int = 0; i < n; i += 1 { p[i] = 0.0f; }
           for j: int = (n - 1); j >= 0; j -= 1 { if (j == 3) { continue; } }
           for s: unsigned int = 16u; s > 0u; s >>= 1 { if (s == 2u) { break; } }
           for k: long = 1l; k < (n as long); k *= 2l { }
           for q: float* = p; q != (p + n); q += 4 { *q = 1.0f; }
           for x: float = 0.0f; x < 1.0f; x += 0.1f { }
           for t: short = 0s; t < 4s; t += 1s { }
           for v: int = 0; v < n; v += ((blockDim.x * gridDim.x) as int) { }
           for w: int = 0; w < n; w += (*p as int) { }
           while true { n = (n - 1); if (n < 0) { break; } }
           do { n = (n + 1); } while (n < 9);
         }",
    );
    expect![[r#"
        for (int i = 0; i < n; ++i) {
          p[i] = 0.0f;
        }
        for (int j = n - 1; j >= 0; --j) {
          if (j == 3) continue;
        }
        for (unsigned int s = 16; s > 0; s >>= 1) {
          if (s == 2) break;
        }
        for (long k = 1; k < n; k *= 2) {
        }
        for (float* q = p; q != p + n; q += 4) {
          *q = 1.0f;
        }
        for (float x = 0.0f; x < 1.0f; x += 0.1f) {
        }
        for (short t = 0; t < 4; ++t) {
        }
        for (int v = 0; v < n; v += blockDim.x * gridDim.x) {
        }
        for (int w = 0; w < n; w += (int)*p) {
        }
        while (true) {
          --n;
          if (n < 0) break;
        }
        do {
          ++n;
        } while (n < 9);
    "#]]
    .assert_eq(&text);
}

#[test]
fn switches() {
    let text = body(
        "device f(s: short, n: unsigned int) -> void {
           switch (s as int) {
             case 1, 2 { n = 3u; }
             case -3 { let g: unsigned int = 2u; n = g; break; }
             case -4 { let h: unsigned int = 2u; n = (n + h); }
             case 4 { if (n == 0u) { break; } else { return; } }
             case 5 { }
             case default { }
           }
           switch n { case 4000000000, 7 { return; } }
         }",
    );
    expect![[r#"
        switch (s) {
          case 1:
          case 2:
            n = 3;
            [[fallthrough]];
          case -3: {
            unsigned int g = 2;
            n = g;
            break;
          }
          case -4: {
            unsigned int h = 2;
            n += h;
            [[fallthrough]];
          }
          case 4:
            if (n == 0) {
              break;
            } else {
              return;
            }
          case 5:
          default:
            ;
        }
        switch (n) {
          case 4000000000u:
          case 7:
            return;
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn parentheses() {
    let text = body(
        "device f(a: int, b: int, c: int, p: bool, q: bool) -> void {
           a = ((a + b) - (c - a));
           a = ((a * b) / (c % a));
           a = ((a + b) << (c - 1));
           a = ((a & b) | (c ^ 3));
           a = ((a | b) | c);
           p = ((p && q) || !(a < b));
           p = (((a & 1) == 0) && ((a < b) == (b < c)));
           a = -(-a);
           a = (a - -b);
           a = (a - -5);
           a = (-(a + b) * -c);
           a = (p ? (q ? a : b) : (q ? b : c));
           a = ((p ? a : b) + c);
           a = ~(a + b);
           a = (((a & b) as bool) ? 1 : 2);
         }",
    );
    expect![[r#"
        a = a + b - (c - a);
        a = a * b / (c % a);
        a = (a + b) << (c - 1);
        a = (a & b) | (c ^ 3);
        a = a | b | c;
        p = (p && q) || !(a < b);
        p = (a & 1) == 0 && (a < b) == (b < c);
        a = -(-a);
        a -= -b;
        a -= -5;
        a = -(a + b) * -c;
        a = p ? (q ? a : b) : q ? b : c;
        a = (p ? a : b) + c;
        a = ~(a + b);
        a = (a & b) ? 1 : 2;
    "#]]
    .assert_eq(&text);
}

#[test]
fn long_lines_break_where_they_bind_loosest() {
    let text = body(
        "device several_arguments(first: float, second: float, third: float, fourth: float) -> float { return first; }
         device f(temperature: float, pressure: float, density: float, velocity: float) -> float {
           let energy: float = (((temperature * pressure) * density) + (((velocity * velocity) * density) + (pressure * (temperature + (density * velocity)))));
           let result: float;
           result = call several_arguments((temperature * pressure), (density * velocity), (temperature * density), (pressure * velocity));
           if ((((temperature > pressure) && (density > velocity)) || ((temperature < velocity) && (pressure < density))) || (energy > 1000.0f)) {
             return 0.0f;
           }
           return (result + energy);
         }",
    );
    expect![[r#"
        float energy = temperature * pressure * density +
            (velocity * velocity * density + pressure * (temperature + density * velocity));
        float result = several_arguments(temperature * pressure, density * velocity,
            temperature * density, pressure * velocity);
        if ((temperature > pressure && density > velocity) ||
            (temperature < velocity && pressure < density) || energy > 1000.0f) {
          return 0.0f;
        }
        return result + energy;
    "#]]
    .assert_eq(&text);
}
