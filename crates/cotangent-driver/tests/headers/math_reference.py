"""Writes math_reference.tsv, the values that the CPU's math functions are tested against.

    pip install mpmath==1.3.0
    python3 math_reference.py > math_reference.tsv

A row is a function's name, its value with 25 digits, and its arguments. The arguments are doubles,
written so that they read back exactly; the value is that of the exact arguments.
"""

import random

from mpmath import mp, mpf

# Enough to take 1 - 1e-300 without loss.
mp.dps = 340
random.seed(20)

PI = mp.pi
SMALLEST, LARGEST = mpf(2) ** -1022, mpf(2) ** 1023


def erfcinv(q):
    return mp.erfinv(1 - q) if q > mpf("1e-30") else refine_erfcinv(q)


def refine_erfcinv(q):
    y = mp.sqrt(-mp.log(q * mp.sqrt(-PI * mp.log(q))))
    for _ in range(200):
        step = (mp.erfc(y) - q) / (2 / mp.sqrt(PI) * mp.exp(-y * y))
        y += step
        if abs(step) < mpf("1e-40"):
            break
    return y


def norm(*values):
    return mp.sqrt(sum(v * v for v in values))


UNARY = {
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [(-26, 0), (0, 2), (2, 12), (9.9, 10.1), (10, 1e3)], [1e7, 1e9, 1e12]),
    "normcdf": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [(-37, -5), (-5, 0), (0, 8)], [-1e-300, 1e-10]),
    "normcdfinv": (lambda p: -mp.sqrt(2) * erfcinv(2 * p), [(0, 0.25), (0.25, 0.75), (0.75, 1)], [1e-300, 1e-100, 1e-20, 1e-8, 1 - 1e-10]),
    "erfinv": (mp.erfinv, [(-1, -0.5), (-0.5, 0.5), (0.5, 1)], [1e-300, 1e-9, 1e-7, 1 - 1e-12, 1 - 2.0**-53]),
    "erfcinv": (erfcinv, [(0, 0.5), (0.5, 1.5), (1.5, 2)], [1e-300, 1e-100, 1e-16, 1e-3, 1 + 1e-9]),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), [(0, 5), (-29, 29), (29, 31), (31, 713)], [1e-200, 713.9]),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), [(0, 5), (-29, 29), (29, 31), (-713, -31)], [1e-200, 713.9]),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), [(-10, 10)], [1e-300, 1e300, -27.0]),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [(0, 10)], [1e-300, 1e300]),
    "sinpi": (lambda x: mp.sin(PI * x), [(-1, 1), (1, 100), (1e6, 1e7)], [1e-300, 1e-9, 0.5, 1.5, 2.0**51 + 0.5]),
    "cospi": (lambda x: mp.cos(PI * x), [(-1, 1), (1, 100), (1e6, 1e7)], [1e-300, 1e-9, 1.0, 3.0, 2.0**51 + 1]),
}

MANY = {
    "rhypot": (2, lambda *v: 1 / norm(*v)),
    "norm3d": (3, norm),
    "rnorm3d": (3, lambda *v: 1 / norm(*v)),
    "norm4d": (4, norm),
    "rnorm4d": (4, lambda *v: 1 / norm(*v)),
}


def row(name, function, arguments):
    value = function(*(mpf(a) for a in arguments))
    if SMALLEST < abs(value) < LARGEST:
        print("\t".join([name, mp.nstr(value, 25)] + [repr(a) for a in arguments]))


for name, (function, ranges, extremes) in UNARY.items():
    for low, high in ranges:
        for _ in range(12):
            row(name, function, [random.uniform(low, high)])
    for extreme in extremes:
        row(name, function, [float(extreme)])

for name, (count, function) in MANY.items():
    for scale in [1.0, 1e-200, 1e200, 1e307]:
        for _ in range(8):
            row(name, function, [random.uniform(-scale, scale) for _ in range(count)])
    row(name, function, [1e300] + [1e-300] * (count - 1))
