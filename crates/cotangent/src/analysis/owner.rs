//! What a race-free primal tells: an element that a thread stores plainly belongs to that thread.

use super::affine::{Atom, INDEX_BITS, Values};
use super::location::{Location, Step};
use super::polynomial::{AtomId, Polynomial};
use super::region::Frame;
use super::root::Root;
use super::site::{Site, Sites};
use super::threads::{Threads, are_within};

/// No two of these threads make any of these stores to the same element.
#[derive(Debug)]
pub struct Fact {
    /// The element.
    location: Location,
    /// Of which threads no two do.
    threads: Threads,
    /// What stands around each of the stores.
    stores: Vec<Vec<Frame>>,
}

/// *The premise.* Two threads that store an active value plainly to one element race, unless a barrier is between them. A
/// kernel in which they do has no derivative. `sites` has such stores alone, and the clearings of adjoints that go with
/// them: both are made by the same threads.
///
/// A store outside loops that contain barriers runs, for all threads of a block, between the same two of them; threads
/// of different blocks never wait for each other. Of several stores to the same element that is known only if there
/// are no barriers at all.
pub fn facts(values: &Values<'_>, sites: &Sites<'_>, has_barriers: bool) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for store in &sites.stores {
        let Some(location) = store.location.clone().filter(is_known) else { continue };
        if store.frames.iter().any(Frame::hides_order) || sites.is_before_and_after_a_meeting(values, store) {
            continue;
        }
        let same = facts.iter_mut().find(|fact| !has_barriers && fact.location == location);
        match same {
            Some(fact) => fact.stores.push(store.frames.clone()),
            None => {
                let threads = Threads::of(location.root);
                facts.push(Fact { location, threads, stores: vec![store.frames.clone()] });
            }
        }
    }
    facts
}

/// Whether a store is to memory that threads share, and to the whole of what its index tells.
fn is_known(location: &Location) -> bool {
    let is_shared_memory = match location.root {
        Root::Param(_) | Root::Behind(_) | Root::Shared(_) | Root::Global(_) => true,
        Root::Private(_) | Root::Unknown => false,
    };
    is_shared_memory && !location.tail.contains(&Step::Somewhere)
}

/// *The owner's elements.* If every addition runs only when a store of one fact does, and its index determines that
/// store's index `e`, then two threads that add to one element have stored to one, and are the same thread.
///
/// It determines `e` if it is `s*b + o`, with one `s` for all additions, offsets that differ by less than `s`, and a
/// base `b` that determines `e`: see `bases`. Or it is `b + s*q`, with `0 <= b < s` wherever one of the additions runs
/// and any `q`: then `b` is the index modulo `s`. If `e` does not vary at all, then only one thread makes the store, and
/// the index does not matter.
pub fn is_owned(values: &Values<'_>, sites: &[&Site<'_>], facts: &[Fact], threads: Threads) -> bool {
    facts.iter().filter(|fact| fact.threads >= threads).any(|fact| {
        let Some(indices) = sites.iter().map(|site| owner_index(values, site, fact)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        if indices.iter().all(|index| !values.varies(index, threads)) {
            return true;
        }
        if are_one_shift(values, sites, &indices, threads) {
            return true;
        }
        let bases: Vec<_> = indices.iter().map(|index| bases(values, index, threads)).collect();
        let ways = bases.iter().map(Vec::len).min().unwrap_or(0);
        (0..ways).any(|way| {
            let each = || sites.iter().zip(&bases).map(|(site, bases)| (*site, &bases[way]));
            let columns: Vec<_> = each().map(|(site, base)| columns(values, site, base, threads)).collect();
            let is_column = |extent: &Polynomial| columns.iter().all(|found| found.contains(extent));
            if columns.first().is_some_and(|first| first.iter().any(is_column)) {
                return true;
            }
            let parts = each().map(|(site, base)| stride(values, site, base, threads));
            let Some(parts) = parts.collect::<Option<Vec<_>>>() else { return false };
            let (strides, offsets): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            strides.windows(2).all(|pair| pair[0] == pair[1])
                && strides.first().is_some_and(|stride| are_within(stride, &offsets))
        })
    })
}

/// *One shift.* If `e` was computed with fewer bits than an index has, and all additions have indices that are, in these
/// bits, `e` and one value that does not vary, then each determines `e`, however the sums wrap: in
/// `row = x + blockIdx.x * columns; row[i]` and `y[blockIdx.x * columns + i]` the second wraps, the first may not.
fn are_one_shift(values: &Values<'_>, sites: &[&Site<'_>], indices: &[Polynomial], threads: Threads) -> bool {
    let shift = |(site, index): (&&Site<'_>, &Polynomial)| {
        let owned = narrow(values, index)?;
        values.low_bits(&site.location.as_ref()?.index, owned.bits)?.plus(-1, &owned)
    };
    let mut shifts = sites.iter().zip(indices).map(shift);
    let Some(Some(first)) = shifts.next() else { return false };
    !values.varies(&first, threads) && shifts.all(|shift| shift.as_ref() == Some(&first))
}

/// What an index was before it became one.
fn narrow(values: &Values<'_>, index: &Polynomial) -> Option<Polynomial> {
    let mut terms = index.terms();
    match (terms.next(), terms.next()) {
        (Some((&[atom], 1)), None) => match values.atom_of(atom) {
            Atom::Widened { value, .. } => Some(value),
            Atom::Variable(_) | Atom::Builtin(_) | Atom::Operation { .. } | Atom::Loaded { .. } => None,
        },
        (_, _) => None,
    }
}

/// The index of a store of the fact, in terms of the counters around an addition that runs only when it does.
fn owner_index(values: &Values<'_>, site: &Site<'_>, fact: &Fact) -> Option<Polynomial> {
    fact.stores.iter().find_map(|frames| {
        let counters = values.reached_with(frames, &site.frames)?;
        values.renamed(&fact.location.index, &counters)
    })
}

/// The stride and the bounds of the offset of an index over a base.
fn stride(
    values: &Values<'_>,
    site: &Site<'_>,
    base: &Polynomial,
    threads: Threads,
) -> Option<(Polynomial, [Polynomial; 2])> {
    let (stride, offset) = site.location.as_ref()?.index.divided(base)?;
    if values.varies(&stride, threads) {
        return None;
    }
    Some((stride, values.offset_bounds(&offset, &site.frames, threads)?))
}

/// The extents `s` for which an index is `b + s*q` over a base `b`, and `0 <= b < s` holds where it is used.
fn columns(values: &Values<'_>, site: &Site<'_>, base: &Polynomial, threads: Threads) -> Vec<Polynomial> {
    let Some(rest) = site.location.as_ref().and_then(|location| location.index.plus(-1, base)) else {
        return Vec::new();
    };
    let is_extent = |extent: &Polynomial| {
        let divided = rest.divided(extent).is_some_and(|(_, remainder)| remainder.as_constant() == Some(0));
        (divided || rest.as_constant() == Some(0)) && !values.varies(extent, threads)
    };
    if !values.is_natural(base, &site.frames) {
        return Vec::new();
    }
    values.upper_bounds(base, &site.frames).into_iter().filter(is_extent).collect()
}

/// Values that determine an index: two threads, or two iterations, in which one of them is equal have equal indices.
///
/// The index itself is one. If all that varies in it is one atom, that atom is; and so is all that varies in what the
/// atom is computed from, if that is one value again: `perm[i / 2]` is determined by `i`.
fn bases(values: &Values<'_>, index: &Polynomial, threads: Threads) -> Vec<Polynomial> {
    let mut bases = vec![index.clone()];
    let mut determining = vec![index.clone()];
    while let Some((atom, bits)) = only_varying(values, &determining, threads) {
        bases.extend(as_indices(values, Polynomial::atom(atom, bits)));
        determining = values.parts(&values.atom_of(atom));
        determining.retain(|part| values.varies(part, threads));
        if let [one] = determining.as_slice() {
            bases.extend(as_indices(values, one.clone()));
        }
    }
    bases
}

/// The one atom of some values that varies, and its bits.
fn only_varying(values: &Values<'_>, among: &[Polynomial], threads: Threads) -> Option<(AtomId, u32)> {
    let all = among.iter().flat_map(|value| value.atoms().map(|atom| (atom, value.bits)));
    let mut varying = all.filter(|&(atom, bits)| values.varies(&Polynomial::atom(atom, bits), threads));
    let first = varying.next()?;
    varying.all(|other| other == first).then_some(first)
}

/// A value as it may occur in an index.
fn as_indices(values: &Values<'_>, value: Polynomial) -> Vec<Polynomial> {
    if value.bits == INDEX_BITS {
        return vec![value];
    }
    [true, false].map(|is_signed| values.widen(value.clone(), is_signed, INDEX_BITS)).into()
}
