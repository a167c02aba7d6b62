//! Pure functions: their value depends on their arguments only, and calling them has no effect.

/// Functions that exist for `double` under this name and for `float` with an `f` appended.
const TWO_PRECISIONS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "norm3d",
    "norm4d",
    "normcdf",
    "normcdfinv",
    "pow",
    "powi",
    "rcbrt",
    "remainder",
    "rhypot",
    "rint",
    "rnorm3d",
    "rnorm4d",
    "round",
    "rsqrt",
    "scalbln",
    "scalbn",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "tan",
    "tanh",
    "tanpi",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "yn",
];

/// Functions with one name.
const ONE_NAME: &[&str] = &[
    "abs", "labs", "llabs", "min", "max", "umin", "umax", "llmin", "llmax", "ullmin", "ullmax", "isnan", "isinf",
    "isfinite", "signbit", "fdividef", "saturate",
];

/// Intrinsics without a rounding mode in their name.
const INTRINSICS: &[&str] = &[
    "__sinf",
    "__cosf",
    "__tanf",
    "__expf",
    "__exp10f",
    "__logf",
    "__log2f",
    "__log10f",
    "__powf",
    "__fdividef",
    "__saturatef",
    "__tanhf",
    "__frsqrt_rn",
    "__int_as_float",
    "__float_as_int",
    "__uint_as_float",
    "__float_as_uint",
    "__double_as_longlong",
    "__longlong_as_double",
    "__hiloint2double",
    "__double2hiint",
    "__double2loint",
    "__popc",
    "__popcll",
    "__clz",
    "__clzll",
    "__ffs",
    "__ffsll",
    "__brev",
    "__brevll",
    "__mul24",
    "__umul24",
    "__mulhi",
    "__umulhi",
    "__mul64hi",
    "__umul64hi",
    "__byte_perm",
    "__funnelshift_l",
    "__funnelshift_r",
    "__funnelshift_lc",
    "__funnelshift_rc",
    "__sad",
    "__usad",
    "__hadd",
    "__rhadd",
    "__uhadd",
    "__urhadd",
    "__double2float_rn",
    "__isnan",
    "__isinf",
    "__finite",
];

/// Intrinsics that exist in the four rounding modes.
const ROUNDED: &[&str] = &[
    "__fadd",
    "__fsub",
    "__fmul",
    "__fdiv",
    "__fmaf",
    "__frcp",
    "__fsqrt",
    "__dadd",
    "__dsub",
    "__dmul",
    "__ddiv",
    "__fma",
    "__drcp",
    "__dsqrt",
    "__float2int",
    "__float2uint",
    "__float2ll",
    "__float2ull",
    "__double2int",
    "__double2uint",
    "__double2ll",
    "__double2ull",
    "__double2float",
    "__int2float",
    "__uint2float",
    "__ll2float",
    "__ull2float",
    "__int2double",
    "__uint2double",
    "__ll2double",
    "__ull2double",
];

/// Whether a pure function has that name, `std::` left out.
pub fn is_math(name: &str) -> bool {
    let single = name.strip_suffix('f').is_some_and(|base| TWO_PRECISIONS.contains(&base));
    let rounded = ["_rn", "_rz", "_ru", "_rd"]
        .iter()
        .any(|mode| name.strip_suffix(mode).is_some_and(|base| ROUNDED.contains(&base)));
    single || rounded || TWO_PRECISIONS.contains(&name) || ONE_NAME.contains(&name) || INTRINSICS.contains(&name)
}

/// All names, for tests and the manual.
pub fn math_functions() -> Vec<String> {
    let mut names: Vec<String> = ONE_NAME.iter().chain(INTRINSICS).map(|name| (*name).to_owned()).collect();
    for base in TWO_PRECISIONS {
        names.push((*base).to_owned());
        names.push(format!("{base}f"));
    }
    for base in ROUNDED {
        for mode in ["_rn", "_rz", "_ru", "_rd"] {
            names.push(format!("{base}{mode}"));
        }
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known() {
        let names = math_functions();
        assert!(names.len() > 300);
        assert!(names.iter().all(|name| is_math(name)));
        assert!(!is_math("f") && !is_math("__fadd") && !is_math("printf"));
    }
}
