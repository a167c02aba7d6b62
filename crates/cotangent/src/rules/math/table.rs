//! The table of pure functions: their spellings, and the derivative in each argument or the reason why there is none.
//!
//! A derivative is a formula over the function's parameters, `y` for its own result, the constants of
//! [`CONSTANTS`], and functions of this table under their names for `double`. Formulas are written in the cheapest form
//! that is sound where the function is: no cancellation that the function itself does not have, and at kinks and poles
//! the stated convention instead of a NaN.

use std::f64::consts;

/// A function, or several that share one derivative.
pub(super) struct Entry {
    /// The name for `double`; overloaded, it takes `float` too. The manual calls the entry by it.
    pub(super) name: &'static str,
    /// The name for `float` alone.
    pub(super) f32: &'static str,
    /// The fast approximation for `float`. Its derivative is made of fast approximations too.
    pub(super) fast: &'static str,
    /// Other names, overloaded for both.
    pub(super) also: &'static [&'static str],
    /// Names to which a rounding mode is appended, `_rn` and its like.
    pub(super) rounded: &'static [&'static str],
    /// Such names for `float` alone.
    pub(super) rounded_f32: &'static [&'static str],
    /// Names for `__half` and `__nv_bfloat16`, overloaded for both.
    pub(super) half: &'static [&'static str],
    /// Such names to which a rounding mode is appended; `#` stands for `half` and for `bfloat16`.
    pub(super) rounded_half: &'static [&'static str],
    /// What is known about the derivative.
    pub(super) class: Class,
    /// What a reader of the manual has to know: the convention at a kink, where the derivative is infinite.
    pub(super) note: &'static str,
    /// Whether a derivative may be infinite, or no number, at some argument.
    pub(super) has_pole: bool,
    /// Whether it may be so where the value is an ordinary number, as that of a root at 0.
    pub(super) is_steep: bool,
    /// For each parameter, between which numbers the derivative is compared with differences.
    pub(super) domain: &'static [(f64, f64)],
}

/// What is known about the derivative of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// Parameters, those of integer type marked `int`, and the derivative in each.
    Derivative(&'static str, &'static [&'static str]),
    /// There is none, and none is missed: integers in, or a number out that says nothing about the argument's
    /// neighbours.
    Inactive,
    /// An argument that carries a derivative is an error.
    Refused(&'static str),
}

/// Constants that formulas may name.
pub(super) const CONSTANTS: &[(&str, f64)] = &[
    ("pi", consts::PI),
    ("ln2", consts::LN_2),
    ("ln10", consts::LN_10),
    ("log2e", consts::LOG2_E),
    ("log10e", consts::LOG10_E),
    ("sqrt_pi", 1.772_453_850_905_516),
    ("half_sqrt_pi", 0.886_226_925_452_758),
    ("two_over_sqrt_pi", consts::FRAC_2_SQRT_PI),
    ("sqrt_2pi", 2.506_628_274_631_000_5),
    ("one_over_sqrt_2pi", 0.398_942_280_401_432_7),
];

const fn rule(name: &'static str, parameters: &'static str, partials: &'static [&'static str]) -> Entry {
    let class = Class::Derivative(parameters, partials);
    Entry { name, ..entry_of(class) }
}

const fn entry_of(class: Class) -> Entry {
    Entry {
        name: "",
        f32: "",
        fast: "",
        also: &[],
        rounded: &[],
        rounded_f32: &[],
        half: &[],
        rounded_half: &[],
        class,
        note: "",
        has_pole: false,
        is_steep: false,
        domain: &[],
    }
}

const fn inactive(also: &'static [&'static str], note: &'static str) -> Entry {
    Entry { also, note, ..entry_of(Class::Inactive) }
}

const fn refused(also: &'static [&'static str], reason: &'static str) -> Entry {
    Entry { also, ..entry_of(Class::Refused(reason)) }
}

/// Between which numbers derivatives are compared with differences where the entry does not say.
pub(super) const USUAL_DOMAIN: (f64, f64) = (-3.0, 3.0);

impl Entry {
    const fn f32(mut self, name: &'static str) -> Entry {
        self.f32 = name;
        self
    }

    const fn fast(mut self, name: &'static str) -> Entry {
        self.fast = name;
        self
    }

    const fn also(mut self, names: &'static [&'static str]) -> Entry {
        self.also = names;
        self
    }

    const fn rounded(mut self, names: &'static [&'static str]) -> Entry {
        self.rounded = names;
        self
    }

    const fn rounded_f32(mut self, names: &'static [&'static str]) -> Entry {
        self.rounded_f32 = names;
        self
    }

    const fn half(mut self, names: &'static [&'static str]) -> Entry {
        self.half = names;
        self
    }

    const fn rounded_half(mut self, names: &'static [&'static str]) -> Entry {
        self.rounded_half = names;
        self
    }

    const fn note(mut self, note: &'static str) -> Entry {
        self.note = note;
        self
    }

    const fn pole(mut self) -> Entry {
        self.has_pole = true;
        self
    }

    const fn steep(mut self) -> Entry {
        self.is_steep = true;
        self.pole()
    }

    const fn domain(mut self, domain: &'static [(f64, f64)]) -> Entry {
        self.domain = domain;
        self
    }

    /// The names of the parameters, and whether each is an integer.
    pub(super) fn parameters(&self) -> Vec<(&'static str, bool)> {
        let Class::Derivative(parameters, _) = self.class else { return Vec::new() };
        let parameter = |text: &'static str| match text.trim().strip_prefix("int ") {
            Some(name) => (name, true),
            None => (text.trim(), false),
        };
        parameters.split(',').map(parameter).collect()
    }

    /// The position of the integer parameter. No function has two.
    pub(super) fn integer(&self) -> Option<usize> {
        self.parameters().iter().position(|(_, is_integer)| *is_integer)
    }

    /// The names for half precision.
    pub(super) fn half_spellings(&self) -> Vec<String> {
        let modes = ["_rn", "_rz", "_ru", "_rd"];
        let types = ["half", "bfloat16"];
        let spelled = |base: &&str| types.map(|ty| modes.map(|mode| format!("{}{mode}", base.replace('#', ty))));
        let rounded = self.rounded_half.iter().flat_map(spelled).flatten();
        self.half.iter().map(|name| (*name).to_owned()).chain(rounded).collect()
    }

    /// All other names, and whether each is for `float` alone. That for `double` is the first, if there is one.
    pub(super) fn spellings(&self) -> Vec<(String, bool)> {
        let rounded = |bases: &[&str], is_single| -> Vec<(String, bool)> {
            let modes = ["_rn", "_rz", "_ru", "_rd"];
            bases.iter().flat_map(|base| modes.map(|mode| (format!("{base}{mode}"), is_single))).collect()
        };
        let both = [self.name].into_iter().chain(self.also.iter().copied()).map(|name| (name.to_owned(), false));
        let single = [self.f32, self.fast].map(|name| (name.to_owned(), true));
        let mut names: Vec<(String, bool)> = both.chain(rounded(self.rounded, false)).chain(single).collect();
        names.extend(rounded(self.rounded_f32, true));
        names.retain(|(name, _)| !name.is_empty());
        names
    }
}

/// The entry of a function by its name for `double`.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}

/// All entries.
pub(super) fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().flat_map(|(_, entries)| *entries)
}

/// The sections of the manual's page and their functions.
pub(super) const TABLE: &[(&str, &[Entry])] = &[
    ("Arithmetic", ARITHMETIC),
    ("Powers, roots and norms", POWERS),
    ("Exponentials and logarithms", EXPONENTIALS),
    ("Trigonometry", TRIGONOMETRY),
    ("Hyperbolic functions", HYPERBOLIC),
    ("Special functions", SPECIAL),
    ("Minimum, maximum, sign", KINKS),
    ("Rounding and scaling", ROUNDING),
    ("Without derivatives", INACTIVE),
    ("Refused", REFUSED),
];

const ARITHMETIC: &[Entry] = &[
    rule("", "a, b", &["1", "1"]).rounded(&["__dadd"]).rounded_f32(&["__fadd"]).half(&["__hadd_rn"]),
    rule("", "a, b", &["1", "-1"]).rounded(&["__dsub"]).rounded_f32(&["__fsub"]).half(&["__hsub_rn"]),
    rule("", "a, b", &["b", "a"]).rounded(&["__dmul"]).rounded_f32(&["__fmul"]).half(&["__hmul_rn"]),
    rule("fdivide", "a, b", &["1 / b", "-y / b"])
        .pole()
        .f32("fdividef")
        .fast("__fdividef")
        .rounded(&["__ddiv"])
        .rounded_f32(&["__fdiv"])
        .domain(&[(-3.0, 3.0), (0.2, 3.0)]),
    rule("", "x", &["-y * y"])
        .pole()
        .rounded(&["__drcp"])
        .rounded_f32(&["__frcp"])
        .half(&["hrcp"])
        .domain(&[(0.2, 3.0)]),
    rule("fma", "a, b, c", &["b", "a", "1"])
        .f32("fmaf")
        .rounded(&["__fma"])
        .rounded_f32(&["__fmaf", "__fmaf_ieee"])
        .half(&["__hfma"]),
    rule("", "x", &["1"]).rounded_f32(&["__double2float"]).rounded_half(&["__float2#"]),
    rule("fmod", "a, b", &["1", "(y - a) / b"])
        .pole()
        .f32("fmodf")
        .domain(&[(-9.0, 9.0), (0.7, 2.0)])
        .note(BETWEEN_JUMPS),
    rule("remainder", "a, b", &["1", "(y - a) / b"])
        .pole()
        .f32("remainderf")
        .domain(&[(-9.0, 9.0), (0.7, 2.0)])
        .note(BETWEEN_JUMPS),
];

const POWERS: &[Entry] = &[
    rule("sqrt", "x", &["0.5 / y"])
        .steep()
        .f32("sqrtf")
        .rounded(&["__dsqrt"])
        .rounded_f32(&["__fsqrt"])
        .half(&["hsqrt"])
        .domain(&[(0.1, 9.0)])
        .note(INFINITE),
    rule("rsqrt", "x", &["-0.5 * y * y * y"])
        .pole()
        .f32("rsqrtf")
        .fast("__frsqrt_rn")
        .half(&["hrsqrt"])
        .domain(&[(0.1, 9.0)]),
    rule("cbrt", "x", &["1 / (3 * y * y)"]).steep().f32("cbrtf").domain(&[(-9.0, -0.1)]).note(INFINITE),
    rule("rcbrt", "x", &["-y * y * y * y / 3"]).pole().f32("rcbrtf").domain(&[(-9.0, -0.1)]),
    rule("pow", "a, b", &["b == 0 ? 0 : b * pow(a, b - 1)", "a == 0 ? 0 : y * log(a)"])
        .steep()
        .f32("powf")
        .fast("__powf")
        .domain(&[(0.1, 5.0), (-3.0, 3.0)])
        .note("in `b`: 0 at `a = 0`, NaN for `a < 0`"),
    rule("powi", "x, int n", &["n == 0 ? 0 : n * powi(x, n - 1)", "0"])
        .pole()
        .f32("powif")
        .domain(&[(0.2, 3.0), (-4.0, 4.0)]),
    rule("hypot", "a, b", &["y == 0 ? 0 : a / y", "y == 0 ? 0 : b / y"]).f32("hypotf").note(ORIGIN),
    rule("rhypot", "a, b", &["a == 0 ? 0 : -a * y * y * y", "b == 0 ? 0 : -b * y * y * y"])
        .f32("rhypotf")
        .domain(&[(0.2, 3.0), (-3.0, 3.0)])
        .note(ORIGIN),
    rule("norm3d", "a, b, c", &["y == 0 ? 0 : a / y", "y == 0 ? 0 : b / y", "y == 0 ? 0 : c / y"])
        .f32("norm3df")
        .note(ORIGIN),
    rule(
        "norm4d",
        "a, b, c, d",
        &["y == 0 ? 0 : a / y", "y == 0 ? 0 : b / y", "y == 0 ? 0 : c / y", "y == 0 ? 0 : d / y"],
    )
    .f32("norm4df")
    .note(ORIGIN),
    rule(
        "rnorm3d",
        "a, b, c",
        &["a == 0 ? 0 : -a * y * y * y", "b == 0 ? 0 : -b * y * y * y", "c == 0 ? 0 : -c * y * y * y"],
    )
    .f32("rnorm3df")
    .domain(&[(0.2, 3.0), (-3.0, 3.0), (-3.0, 3.0)])
    .note(ORIGIN),
    rule(
        "rnorm4d",
        "a, b, c, d",
        &[
            "a == 0 ? 0 : -a * y * y * y",
            "b == 0 ? 0 : -b * y * y * y",
            "c == 0 ? 0 : -c * y * y * y",
            "d == 0 ? 0 : -d * y * y * y",
        ],
    )
    .f32("rnorm4df")
    .domain(&[(0.2, 3.0), (-3.0, 3.0), (-3.0, 3.0), (-3.0, 3.0)])
    .note(ORIGIN),
];

const EXPONENTIALS: &[Entry] = &[
    rule("exp", "x", &["y"]).f32("expf").half(&["hexp"]).fast("__expf"),
    rule("exp2", "x", &["ln2 * y"]).f32("exp2f").half(&["hexp2"]),
    rule("exp10", "x", &["ln10 * y"]).f32("exp10f").half(&["hexp10"]).fast("__exp10f"),
    rule("expm1", "x", &["y + 1"]).f32("expm1f"),
    rule("log", "x", &["1 / x"]).pole().f32("logf").half(&["hlog"]).fast("__logf").domain(&[(0.1, 9.0)]),
    rule("log2", "x", &["log2e / x"]).pole().f32("log2f").half(&["hlog2"]).fast("__log2f").domain(&[(0.1, 9.0)]),
    rule("log10", "x", &["log10e / x"]).pole().f32("log10f").half(&["hlog10"]).fast("__log10f").domain(&[(0.1, 9.0)]),
    rule("log1p", "x", &["1 / (1 + x)"]).pole().f32("log1pf").domain(&[(-0.9, 9.0)]),
];

const TRIGONOMETRY: &[Entry] = &[
    rule("sin", "x", &["cos(x)"]).f32("sinf").half(&["hsin"]).fast("__sinf"),
    rule("cos", "x", &["-sin(x)"]).f32("cosf").half(&["hcos"]).fast("__cosf"),
    rule("tan", "x", &["1 + y * y"]).f32("tanf").fast("__tanf").domain(&[(-1.4, 1.4)]),
    rule("asin", "x", &["rsqrt((1 - x) * (1 + x))"]).steep().f32("asinf").domain(&[(-0.99, 0.99)]).note(INFINITE_ENDS),
    rule("acos", "x", &["-rsqrt((1 - x) * (1 + x))"]).steep().f32("acosf").domain(&[(-0.99, 0.99)]).note(INFINITE_ENDS),
    rule("atan", "x", &["1 / (1 + x * x)"]).f32("atanf"),
    rule("atan2", "a, b", &["b == 0 ? 0 : b / (a * a + b * b)", "a == 0 ? 0 : -a / (a * a + b * b)"])
        .f32("atan2f")
        .domain(&[(0.2, 3.0), (-3.0, 3.0)])
        .note(ORIGIN),
    rule("sinpi", "x", &["pi * cospi(x)"]).f32("sinpif"),
    rule("cospi", "x", &["-pi * sinpi(x)"]).f32("cospif"),
];

const HYPERBOLIC: &[Entry] = &[
    rule("sinh", "x", &["cosh(x)"]).f32("sinhf"),
    rule("cosh", "x", &["sinh(x)"]).f32("coshf"),
    rule("tanh", "x", &["1 - y * y"]).f32("tanhf").half(&["htanh"]).fast("__tanhf"),
    rule("asinh", "x", &["rsqrt(1 + x * x)"]).f32("asinhf"),
    rule("acosh", "x", &["rsqrt((x - 1) * (x + 1))"]).steep().f32("acoshf").domain(&[(1.1, 9.0)]).note("infinite at 1"),
    rule("atanh", "x", &["1 / ((1 - x) * (1 + x))"]).pole().f32("atanhf").domain(&[(-0.95, 0.95)]).note(INFINITE_ENDS),
];

const SPECIAL: &[Entry] = &[
    rule("erf", "x", &["two_over_sqrt_pi * exp(-x * x)"]).f32("erff"),
    rule("erfc", "x", &["-two_over_sqrt_pi * exp(-x * x)"]).f32("erfcf"),
    // Far out both terms of the plain form are nearly equal, and the asymptotic series takes over.
    rule(
        "erfcx",
        "x",
        &["x > 30 ? -(1 - (1.5 - 3.75 / (x * x)) / (x * x)) / (sqrt_pi * x * x) : 2 * x * y - two_over_sqrt_pi"],
    )
    .f32("erfcxf")
    .domain(&[(-2.0, 60.0)]),
    rule("erfinv", "x", &["half_sqrt_pi * exp(y * y)"])
        .pole()
        .f32("erfinvf")
        .domain(&[(-0.99, 0.99)])
        .note(INFINITE_ENDS),
    rule("erfcinv", "x", &["-half_sqrt_pi * exp(y * y)"])
        .pole()
        .f32("erfcinvf")
        .domain(&[(0.01, 1.99)])
        .note("infinite at 0 and 2"),
    rule("normcdf", "x", &["one_over_sqrt_2pi * exp(-0.5 * x * x)"]).f32("normcdff"),
    rule("normcdfinv", "x", &["sqrt_2pi * exp(0.5 * y * y)"])
        .pole()
        .f32("normcdfinvf")
        .domain(&[(0.01, 0.99)])
        .note("infinite at 0 and 1"),
    rule("lgamma", "x", &["digamma(x)"]).pole().f32("lgammaf").domain(&[(0.2, 15.0)]).note(DIGAMMA),
    rule("tgamma", "x", &["y * digamma(x)"]).pole().f32("tgammaf").domain(&[(-2.9, -2.1)]).note(DIGAMMA),
    rule("j0", "x", &["-j1(x)"]).f32("j0f").domain(&[(0.1, 20.0)]),
    rule("j1", "x", &["x == 0 ? 0.5 : j0(x) - y / x"]).f32("j1f").domain(&[(0.1, 20.0)]),
    rule("jn", "int n, x", &["0", "x == 0 ? (n == 1 ? 0.5 : 0) : n * y / x - jn(n + 1, x)"])
        .f32("jnf")
        .domain(&[(0.0, 4.0), (0.1, 20.0)]),
    rule("y0", "x", &["-y1(x)"]).pole().f32("y0f").domain(&[(0.3, 20.0)]),
    rule("y1", "x", &["y0(x) - y / x"]).pole().f32("y1f").domain(&[(0.3, 20.0)]),
    rule("yn", "int n, x", &["0", "n * y / x - yn(n + 1, x)"]).pole().f32("ynf").domain(&[(0.0, 4.0), (0.5, 20.0)]),
    rule("cyl_bessel_i0", "x", &["cyl_bessel_i1(x)"]).f32("cyl_bessel_i0f"),
    rule("cyl_bessel_i1", "x", &["x == 0 ? 0.5 : cyl_bessel_i0(x) - y / x"]).f32("cyl_bessel_i1f"),
];

const KINKS: &[Entry] = &[
    rule("fmin", "a, b", &["a <= b || b != b ? 1 : 0", "a <= b || b != b ? 0 : 1"])
        .f32("fminf")
        .also(&["min"])
        .half(&["__hmin"])
        .note(TIES),
    rule("fmax", "a, b", &["a >= b || b != b ? 1 : 0", "a >= b || b != b ? 0 : 1"])
        .f32("fmaxf")
        .also(&["max"])
        .half(&["__hmax"])
        .note(TIES),
    rule("fdim", "a, b", &["a > b ? 1 : 0", "a > b ? -1 : 0"]).f32("fdimf").note("0 where `a = b`"),
    rule("fabs", "x", &["x == 0 ? 0 : copysign(1, x)"]).f32("fabsf").also(&["abs"]).half(&["__habs"]).note("0 at 0"),
    rule("copysign", "a, b", &["a == 0 ? 0 : copysign(1, a) * copysign(1, b)", "0"])
        .f32("copysignf")
        .note("in `a`: 0 at `a = 0`"),
    rule("", "x", &["y == x ? 1 : 0"]).f32("__saturatef").note("1 at the ends 0 and 1"),
    rule("", "a, b", &["a <= b || a != a ? 1 : 0", "a <= b || a != a ? 0 : 1"]).half(&["__hmin_nan"]).note(TIES_NAN),
    rule("", "a, b", &["a >= b || a != a ? 1 : 0", "a >= b || a != a ? 0 : 1"]).half(&["__hmax_nan"]).note(TIES_NAN),
    rule("", "a, b", &["y <= 0 || y >= 1 ? 0 : 1", "y <= 0 || y >= 1 ? 0 : 1"]).half(&["__hadd_sat"]).note(SATURATED),
    rule("", "a, b", &["y <= 0 || y >= 1 ? 0 : 1", "y <= 0 || y >= 1 ? 0 : -1"]).half(&["__hsub_sat"]).note(SATURATED),
    rule("", "a, b", &["y <= 0 || y >= 1 ? 0 : b", "y <= 0 || y >= 1 ? 0 : a"]).half(&["__hmul_sat"]).note(SATURATED),
    rule("", "a, b, c", &["y <= 0 || y >= 1 ? 0 : b", "y <= 0 || y >= 1 ? 0 : a", "y <= 0 || y >= 1 ? 0 : 1"])
        .half(&["__hfma_sat"])
        .note(SATURATED),
    rule("", "a, b, c", &["y <= 0 ? 0 : b", "y <= 0 ? 0 : a", "y <= 0 ? 0 : 1"])
        .half(&["__hfma_relu"])
        .note("0 where the result is 0"),
];

const ROUNDING: &[Entry] = &[
    rule("ceil", "x", &["0"]).f32("ceilf").half(&["hceil"]).note(BETWEEN_JUMPS),
    rule("floor", "x", &["0"]).f32("floorf").half(&["hfloor"]).note(BETWEEN_JUMPS),
    rule("trunc", "x", &["0"]).f32("truncf").half(&["htrunc"]).note(BETWEEN_JUMPS),
    rule("round", "x", &["0"]).f32("roundf").note(BETWEEN_JUMPS),
    rule("rint", "x", &["0"]).f32("rintf").half(&["hrint"]).note(BETWEEN_JUMPS),
    rule("nearbyint", "x", &["0"]).f32("nearbyintf").note(BETWEEN_JUMPS),
    rule("logb", "x", &["0"]).f32("logbf").domain(&[(1.1, 1.9)]).note(BETWEEN_JUMPS),
    rule("ldexp", "x, int n", &["ldexp(1, n)", "0"]).f32("ldexpf").domain(&[(-3.0, 3.0), (-9.0, 9.0)]),
    rule("scalbn", "x, int n", &["scalbn(1, n)", "0"]).f32("scalbnf").domain(&[(-3.0, 3.0), (-9.0, 9.0)]),
    rule("scalbln", "x, int n", &["scalbln(1, n)", "0"]).f32("scalblnf").domain(&[(-3.0, 3.0), (-9.0, 9.0)]),
];

const BETWEEN_JUMPS: &str = "as between its jumps";
const INFINITE: &str = "infinite at 0";
const INFINITE_ENDS: &str = "infinite at -1 and 1";
const ORIGIN: &str = "0 at the origin";
const DIGAMMA: &str = "`digamma` is a function that is printed along with the derivative";
const TIES: &str =
    "the argument that is returned, `a` if they are equal; a NaN is not returned if the other argument is a number";

const TIES_NAN: &str = "the argument that is returned, `a` if they are equal; a NaN is returned";
const SATURATED: &str = "0 where the result is 0 or 1";

const INACTIVE: &[Entry] = &[
    inactive(
        &["ilogb", "ilogbf", "llrint", "llrintf", "llround", "llroundf", "lrint", "lrintf", "lround", "lroundf"],
        "an integer that is constant between its jumps",
    ),
    inactive(&[], "an integer that is constant between its jumps")
        .rounded(&[
            "__double2int",
            "__double2ll",
            "__double2uint",
            "__double2ull",
            "__float2int",
            "__float2ll",
            "__float2uint",
            "__float2ull",
        ])
        .rounded_half(&["__#2short", "__#2ushort", "__#2int", "__#2uint", "__#2ll", "__#2ull"]),
    inactive(&["isfinite", "isinf", "isnan", "signbit", "__finite", "__isinf", "__isnan"], "a test")
        .half(&["__hisinf", "__hisnan"]),
    inactive(&[], "a comparison").half(&["__hne", "__hequ", "__hltu", "__hleu", "__hgtu", "__hgeu"]),
    inactive(&[], "from an integer")
        .rounded(&[
            "__int2double",
            "__int2float",
            "__ll2double",
            "__ll2float",
            "__uint2double",
            "__uint2float",
            "__ull2double",
            "__ull2float",
        ])
        .rounded_half(&["__short2#", "__ushort2#", "__int2#", "__uint2#", "__ll2#", "__ull2#"]),
    inactive(
        &["__hiloint2double", "__int_as_float", "__longlong_as_double", "__uint_as_float"],
        "from an integer's bits; those of a number that carries a derivative cannot be taken",
    )
    .half(&["__short_as_half", "__ushort_as_half", "__short_as_bfloat16", "__ushort_as_bfloat16"]),
    inactive(
        &[
            "labs",
            "llabs",
            "llmax",
            "llmin",
            "ullmax",
            "ullmin",
            "umax",
            "umin",
            "__brev",
            "__brevll",
            "__byte_perm",
            "__clz",
            "__clzll",
            "__dp2a_hi",
            "__dp2a_lo",
            "__dp4a",
            "__ffs",
            "__ffsll",
            "__fns",
            "__funnelshift_l",
            "__funnelshift_lc",
            "__funnelshift_r",
            "__funnelshift_rc",
            "__hadd",
            "__mul24",
            "__mul64hi",
            "__mulhi",
            "__popc",
            "__popcll",
            "__rhadd",
            "__sad",
            "__uhadd",
            "__umul24",
            "__umul64hi",
            "__umulhi",
            "__urhadd",
            "__usad",
        ],
        "integers",
    ),
];

const REFUSED: &[Entry] = &[
    refused(
        &["__double2hiint", "__double2loint", "__double_as_longlong", "__float_as_int", "__float_as_uint"],
        "the bits of a number are an integer, which carries no derivative",
    )
    .half(&["__half_as_short", "__half_as_ushort", "__bfloat16_as_short", "__bfloat16_as_ushort"]),
    refused(&["nextafter", "nextafterf"], "the next number is a step of rounding, no function of the reals"),
];
