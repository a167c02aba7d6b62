//! Polynomials over atoms, modulo a power of two: what C++'s integer arithmetic computes.
//!
//! Sums, differences and products of integers of `bits` bits are those of the ring of integers modulo `2^bits`,
//! whether they wrap or not; so equal polynomials have equal values, always.

use std::collections::BTreeMap;

use crate::id_type;

id_type!(
    /// A value that is not taken apart further.
    AtomId
);

/// More terms are not worth comparing.
const MAX_TERMS: usize = 24;
/// Nor are products of more factors.
const MAX_FACTORS: usize = 8;

/// A sum of products of atoms with constant factors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Polynomial {
    /// The modulus is two to this.
    pub bits: u32,
    /// The factor of each product of atoms; none is zero. The atoms of a product are sorted.
    terms: BTreeMap<Vec<AtomId>, i128>,
}

impl Polynomial {
    /// A constant.
    pub fn constant(value: i128, bits: u32) -> Polynomial {
        let mut result = Polynomial { bits, terms: BTreeMap::new() };
        result.add_term(Vec::new(), value);
        result
    }

    /// An atom.
    pub fn atom(atom: AtomId, bits: u32) -> Polynomial {
        Polynomial { bits, terms: BTreeMap::from([(vec![atom], 1)]) }
    }

    /// The products and their factors.
    pub fn terms(&self) -> impl Iterator<Item = (&[AtomId], i128)> {
        self.terms.iter().map(|(product, factor)| (product.as_slice(), *factor))
    }

    /// The value, if no atom is in it.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.iter().next() {
            None => Some(0),
            Some((product, factor)) if product.is_empty() && self.terms.len() == 1 => Some(*factor),
            Some(_) => None,
        }
    }

    /// The atoms of all products.
    pub fn atoms(&self) -> impl Iterator<Item = AtomId> {
        self.terms.keys().flatten().copied()
    }

    /// `self + factor * other`; none if it has too many terms.
    pub fn plus(&self, factor: i128, other: &Polynomial) -> Option<Polynomial> {
        let mut result = self.clone();
        for (product, value) in other.terms() {
            result.add_term(product.to_vec(), wrap(value, self.bits) * wrap(factor, self.bits));
        }
        result.if_small()
    }

    /// `self * other`; none if it has too many terms.
    pub fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut result = Polynomial { bits: self.bits, terms: BTreeMap::new() };
        for (left, left_factor) in self.terms() {
            for (right, right_factor) in other.terms() {
                let mut product = [left, right].concat();
                product.sort_unstable();
                result.add_term(product, left_factor * right_factor);
            }
        }
        result.if_small()
    }

    /// Quotient and remainder: `self = quotient * divisor + remainder`, always. They are those that a reader would
    /// give where the divisor's longest product, or the last of them, divides in one way only.
    pub fn divided(&self, divisor: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let (lead, lead_factor) = divisor
            .terms()
            .filter(|(product, _)| !product.is_empty())
            .max_by_key(|(product, _)| (product.len(), *product))?;
        let mut quotient = Polynomial { bits: self.bits, terms: BTreeMap::new() };
        for (product, factor) in self.terms() {
            if factor % lead_factor == 0
                && let Some(rest) = without(product, lead)
            {
                quotient.add_term(rest, factor / lead_factor);
            }
        }
        let remainder = self.plus(-1, &quotient.times(divisor)?)?;
        Some((quotient, remainder))
    }

    /// The same, also by a constant.
    pub fn divided_by(&self, divisor: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let Some(by) = divisor.as_constant() else { return self.divided(divisor) };
        let is_multiple = by != 0 && self.terms().all(|(_, factor)| factor % by == 0);
        let terms = self.terms.iter().map(|(product, factor)| (product.clone(), factor / by));
        let zero = Polynomial::constant(0, self.bits);
        is_multiple.then(|| (Polynomial { bits: self.bits, terms: terms.collect() }, zero))
    }

    fn add_term(&mut self, product: Vec<AtomId>, factor: i128) {
        let sum = self.terms.get(&product).copied().unwrap_or(0) + wrap(factor, self.bits);
        match wrap(sum, self.bits) {
            0 => self.terms.remove(&product),
            factor => self.terms.insert(product, factor),
        };
    }

    fn if_small(self) -> Option<Polynomial> {
        let is_small = self.terms.len() <= MAX_TERMS && self.terms.keys().all(|product| product.len() <= MAX_FACTORS);
        is_small.then_some(self)
    }
}

/// The representative of a number modulo `2^bits` that is nearest to zero.
fn wrap(value: i128, bits: u32) -> i128 {
    let modulus = 1i128 << bits;
    let low = value.rem_euclid(modulus);
    if low >= modulus / 2 { low - modulus } else { low }
}

/// A product without some of its factors, if it has them.
fn without(product: &[AtomId], factors: &[AtomId]) -> Option<Vec<AtomId>> {
    let mut rest = product.to_vec();
    for factor in factors {
        let position = rest.iter().position(|atom| atom == factor)?;
        rest.remove(position);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(polynomial: &Polynomial, atoms: &[i128]) -> i128 {
        let product =
            |product: &[AtomId]| product.iter().fold(1i128, |all, atom| wrap(all * atoms[atom.0 as usize], 32));
        wrap(polynomial.terms().map(|(atoms, factor)| wrap(factor * product(atoms), 32)).sum(), 32)
    }

    fn polynomials() -> impl Strategy<Value = Polynomial> {
        let term = (proptest::collection::vec(0u32..3, 0..3), any::<i32>());
        proptest::collection::vec(term, 0..4).prop_map(|terms| {
            let mut result = Polynomial::constant(0, 32);
            for (mut product, factor) in terms {
                product.sort_unstable();
                result.add_term(product.into_iter().map(AtomId).collect(), factor.into());
            }
            result
        })
    }

    #[test]
    fn a_factor_that_is_in_several_terms_divides_once() {
        // b*k + b - a, divided by itself and times m.
        let [a, b, k, m] = [0, 1, 2, 3].map(|id| Polynomial::atom(AtomId(id), 32));
        let divisor = b.times(&k).unwrap().plus(1, &b).unwrap().plus(-1, &a).unwrap();
        let (quotient, remainder) = divisor.divided(&divisor).unwrap();
        assert_eq!((quotient.as_constant(), remainder.as_constant()), (Some(1), Some(0)));
        let (quotient, remainder) = divisor.times(&m).unwrap().divided(&divisor).unwrap();
        assert_eq!((quotient, remainder.as_constant()), (m, Some(0)));
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_wrapping_integers(
            a in polynomials(), b in polynomials(), factor in any::<i32>(), atoms in any::<[i32; 3]>()
        ) {
            let atoms = atoms.map(i128::from);
            let [left, right] = [value(&a, &atoms), value(&b, &atoms)];
            let factor = i128::from(factor);
            let sum = a.plus(factor, &b).unwrap();
            prop_assert_eq!(value(&sum, &atoms), wrap(left + wrap(factor * right, 32), 32));
            let product = a.times(&b).unwrap();
            prop_assert_eq!(value(&product, &atoms), wrap(left * right, 32));
            if let Some((quotient, remainder)) = a.divided(&b) {
                let again = wrap(value(&quotient, &atoms) * right, 32) + value(&remainder, &atoms);
                prop_assert_eq!(wrap(again, 32), left);
            }
        }
    }

    #[test]
    fn factors_are_divided_too() {
        let [x, y] = [0, 1].map(|id| Polynomial::atom(AtomId(id), 32));
        let six = Polynomial::constant(6, 32).times(&x).and_then(|six| six.times(&y)).unwrap();
        let two = Polynomial::constant(2, 32).times(&x).unwrap();
        let three = Polynomial::constant(3, 32).times(&y).unwrap();
        assert_eq!(six.divided(&two), Some((three, Polynomial::constant(0, 32))));
    }

    #[test]
    fn what_is_too_large_is_not_known() {
        let atoms = || (0..).map(|id| Polynomial::atom(AtomId(id), 32));
        let one = || Polynomial::constant(1, 32);
        let product = |factors: usize| atoms().take(factors).try_fold(one(), |product, atom| product.times(&atom));
        assert!(product(MAX_FACTORS).is_some() && product(MAX_FACTORS + 1).is_none());
        let sum =
            |terms: usize| atoms().take(terms).try_fold(Polynomial::constant(0, 32), |sum, atom| sum.plus(1, &atom));
        assert!(sum(MAX_TERMS).is_some() && sum(MAX_TERMS + 1).is_none());
    }
}
