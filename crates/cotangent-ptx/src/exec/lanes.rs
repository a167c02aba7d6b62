//! The 32 values of a register, one for each lane of a warp, and arithmetic on all of them at once.
//!
//! A register is 64 bits wide. A narrower value is in the low bits, and what is above is not looked at: each read cuts off
//! at the width of its instruction. Arithmetic that cannot fail is done for all lanes, whether they take part or not, so
//! that the compiler can use vector instructions; [`Mask`] says whose results are kept.

/// Threads in a warp.
pub(crate) const LANES: usize = 32;

/// One value for each lane.
pub(crate) type Lanes = [u64; LANES];

/// Which lanes take part, one bit each.
pub(crate) type Mask = u32;

/// A type that registers hold.
pub(crate) trait Value: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            #[inline(always)]
            fn of(bits: u64) -> $type {
                bits as $type
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Value for f32 {
    #[inline(always)]
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Value for f64 {
    #[inline(always)]
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl Value for bool {
    #[inline(always)]
    fn of(bits: u64) -> bool {
        bits & 1 != 0
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

/// The lanes of a mask, in ascending order.
#[inline]
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

#[inline(always)]
pub(crate) fn map<A: Value, R: Value>(a: &Lanes, function: impl Fn(A) -> R) -> Lanes {
    std::array::from_fn(|lane| function(A::of(a[lane])).bits())
}

#[inline(always)]
pub(crate) fn map2<A: Value, R: Value>(a: &Lanes, b: &Lanes, function: impl Fn(A, A) -> R) -> Lanes {
    std::array::from_fn(|lane| function(A::of(a[lane]), A::of(b[lane])).bits())
}

#[inline(always)]
pub(crate) fn map3<A: Value, R: Value>(a: &Lanes, b: &Lanes, c: &Lanes, function: impl Fn(A, A, A) -> R) -> Lanes {
    std::array::from_fn(|lane| function(A::of(a[lane]), A::of(b[lane]), A::of(c[lane])).bits())
}

/// As [`map`], only for the lanes of a mask: for what takes long.
#[inline(always)]
pub(crate) fn map_some<A: Value, R: Value>(mask: Mask, a: &Lanes, function: impl Fn(A) -> R) -> Lanes {
    let mut result = [0; LANES];
    lanes_of(mask).for_each(|lane| result[lane] = function(A::of(a[lane])).bits());
    result
}

#[inline(always)]
pub(crate) fn map2_some<A: Value, R: Value>(mask: Mask, a: &Lanes, b: &Lanes, function: impl Fn(A, A) -> R) -> Lanes {
    let mut result = [0; LANES];
    lanes_of(mask).for_each(|lane| result[lane] = function(A::of(a[lane]), A::of(b[lane])).bits());
    result
}
