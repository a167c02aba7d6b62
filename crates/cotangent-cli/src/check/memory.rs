//! The memory of one call: an argument a buffer, and a buffer for whatever pointers inside them point to. Numbers are
//! kept as such and laid out as bytes only for a run, so that one input serves every precision.

use cotangent::ir::{FloatKind, Module, Type};

use super::half;
use super::layout::{Layout, Precision, Scalar, layout};
use super::random::Random;
use super::values::Spec;

/// Buffers; the first are the parameters', in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) buffers: Vec<Buffer>,
}

/// Elements of one type, as their numbers and pointers one after another.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    pub(crate) ty: Type,
    pub(crate) count: usize,
    pub(crate) values: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Float(f64),
    Int(i128),
    /// To a buffer, or null.
    Pointer(Option<usize>),
}

/// Bytes of buffers, and which buffers' addresses go where: in which buffer, at which offset.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<Vec<u8>>,
    pub(crate) patches: Vec<(usize, usize, usize)>,
}

impl Memory {
    /// Appends a buffer for a parameter, or for what it points to.
    pub(crate) fn parameter(&mut self, module: &Module, ty: &Type, spec: &Spec, length: usize, random: &mut Random) {
        let at = self.buffers.len();
        let (ty, count) = match (ty.pointee(), spec) {
            (
                Some(pointee),
                Spec::Random(count)
                | Spec::Between(count, ..)
                | Spec::Range(count, ..)
                | Spec::Zeros(count)
                | Spec::Integers(count, _),
            ) => (pointee, *count),
            (Some(pointee), Spec::Text(text)) => (pointee, text.len() + 1),
            (Some(pointee), Spec::List(_) | Spec::Number(_) | Spec::Fields(_)) => {
                (pointee, elements(spec).map_or(length, <[Spec]>::len))
            }
            (None, _) => (ty, 1),
        };
        self.buffers.push(Buffer { ty: ty.clone(), count, values: Vec::new() });
        let leaves = layout(module, ty, Precision::Native).leaves;
        let mut values = Vec::new();
        let each = elements(spec).map_or_else(|| vec![parts(spec)], |elements| elements.iter().map(parts).collect());
        for index in 0..count * leaves.len() {
            let (element, leaf) = (index / leaves.len(), index % leaves.len());
            let given = each.get(element).or(each.first()).map_or(&[][..], Vec::as_slice);
            let spec = match given {
                [whole] => *whole,
                fields => fields.get(leaf).copied().unwrap_or(&Spec::Number(0.0)),
            };
            values.push(match &leaves[leaf].scalar {
                Scalar::Float(_) => Value::Float(match spec {
                    Spec::Number(number) => f64::from(*number as f32),
                    Spec::Zeros(_) => 0.0,
                    Spec::Integers(_, bound) => random.below(*bound) as f64,
                    Spec::Between(_, low, high) => random.single(*low, *high),
                    Spec::Range(_, from, step) => f64::from((from + step * element as f64) as f32),
                    Spec::Random(_) | Spec::Fields(_) | Spec::List(_) | Spec::Text(_) => random.single(0.5, 1.5),
                }),
                Scalar::Int(_) | Scalar::Bool => Value::Int(match spec {
                    Spec::Number(number) => *number as i128,
                    Spec::Zeros(_) => 0,
                    Spec::Integers(_, bound) => random.below(*bound),
                    Spec::Text(text) => text.as_bytes().get(index).copied().unwrap_or(0).into(),
                    Spec::Between(_, low, high) => *low as i128 + random.below((high - low).max(1.0) as i128),
                    Spec::Range(_, from, step) => (from + step * element as f64) as i128,
                    Spec::Random(_) | Spec::Fields(_) | Spec::List(_) => random.below(2),
                }),
                Scalar::Pointer(pointee) => {
                    let inner = self.buffers.len();
                    self.parameter(module, &Type::pointer(pointee.clone()), spec, length, random);
                    Value::Pointer(Some(inner))
                }
                Scalar::Opaque => Value::Pointer(None),
            });
        }
        self.buffers[at].values = values;
    }

    /// The buffers that can be reached from one, itself first.
    pub(crate) fn reachable(&self, from: usize) -> Vec<usize> {
        let mut found = vec![from];
        let mut next = 0;
        while let Some(buffer) = found.get(next).copied() {
            for value in &self.buffers[buffer].values {
                if let Value::Pointer(Some(target)) = value
                    && !found.contains(target)
                {
                    found.push(*target);
                }
            }
            next += 1;
        }
        found
    }

    /// Appends copies of a buffer and all that it reaches, with other floats and no integers, of the types that those of
    /// the buffers become. Returns which buffer's copy is where.
    pub(crate) fn shadow(
        &mut self,
        of: usize,
        ty: &dyn Fn(&Type) -> Type,
        float: &mut dyn FnMut(usize, usize) -> f64,
    ) -> Vec<(usize, usize)> {
        let first = self.buffers.len();
        let places: Vec<(usize, usize)> =
            self.reachable(of).into_iter().enumerate().map(|(index, buffer)| (buffer, first + index)).collect();
        for (buffer, _) in &places {
            let mut copy = self.buffers[*buffer].clone();
            copy.ty = ty(&copy.ty);
            for (index, value) in copy.values.iter_mut().enumerate() {
                *value = match *value {
                    Value::Float(_) => Value::Float(float(*buffer, index)),
                    Value::Int(_) => Value::Int(0),
                    Value::Pointer(target) => Value::Pointer(target.and_then(|target| {
                        places.iter().find(|(primal, _)| *primal == target).map(|(_, shadow)| *shadow)
                    })),
                };
            }
            self.buffers.push(copy);
        }
        places
    }

    /// Appends one element of a type, all zero.
    pub(crate) fn zero(&mut self, module: &Module, ty: &Type) -> usize {
        let leaves = layout(module, ty, Precision::Native).leaves;
        let values = leaves.iter().map(|leaf| match leaf.scalar {
            Scalar::Float(_) => Value::Float(0.0),
            Scalar::Int(_) | Scalar::Bool => Value::Int(0),
            Scalar::Pointer(_) | Scalar::Opaque => Value::Pointer(None),
        });
        self.buffers.push(Buffer { ty: ty.clone(), count: 1, values: values.collect() });
        self.buffers.len() - 1
    }

    pub(crate) fn encode(&self, module: &Module, precision: Precision) -> Encoded {
        let mut encoded = Encoded { bytes: Vec::new(), patches: Vec::new() };
        for (index, buffer) in self.buffers.iter().enumerate() {
            let Layout { size, leaves, .. } = layout(module, &buffer.ty, precision);
            let mut bytes = vec![0; size * buffer.count];
            for (position, value) in buffer.values.iter().enumerate() {
                let leaf = &leaves[position % leaves.len()];
                let at = position / leaves.len() * size + leaf.offset;
                match (value, &leaf.scalar) {
                    (Value::Float(float), Scalar::Float(FloatKind::Float)) => {
                        bytes[at..at + 4].copy_from_slice(&(*float as f32).to_le_bytes());
                    }
                    (Value::Float(float), Scalar::Float(kind @ (FloatKind::Half | FloatKind::BFloat))) => {
                        bytes[at..at + 2].copy_from_slice(&half::encoded(*float, *kind).to_le_bytes());
                    }
                    (Value::Float(float), _) => bytes[at..at + 8].copy_from_slice(&float.to_le_bytes()),
                    (Value::Int(int), Scalar::Int(kind)) => {
                        let width = kind.bits() as usize / 8;
                        bytes[at..at + width].copy_from_slice(&int.to_le_bytes()[..width]);
                    }
                    (Value::Int(int), _) => bytes[at] = u8::from(*int != 0),
                    (Value::Pointer(Some(target)), _) => encoded.patches.push((index, at, *target)),
                    (Value::Pointer(None), _) => {}
                }
            }
            encoded.bytes.push(bytes);
        }
        encoded
    }

    /// The same memory with the numbers that were written back.
    pub(crate) fn decoded(&self, module: &Module, precision: Precision, bytes: &[Vec<u8>]) -> Memory {
        let mut memory = self.clone();
        for (buffer, bytes) in memory.buffers.iter_mut().zip(bytes) {
            let Layout { size, leaves, .. } = layout(module, &buffer.ty, precision);
            for (position, value) in buffer.values.iter_mut().enumerate() {
                let leaf = &leaves[position % leaves.len()];
                let at = position / leaves.len() * size + leaf.offset;
                let width = match &leaf.scalar {
                    Scalar::Int(kind) => kind.bits() as usize / 8,
                    Scalar::Bool => 1,
                    Scalar::Float(_) | Scalar::Pointer(_) | Scalar::Opaque => 0,
                };
                if let (Value::Int(int), 1..) = (&mut *value, width) {
                    *int = integer(&bytes[at..at + width], &leaf.scalar);
                }
                if let (Value::Float(float), Scalar::Float(kind)) = (value, &leaf.scalar) {
                    *float = match kind {
                        FloatKind::Float => f32::from_le_bytes(four(&bytes[at..at + 4])).into(),
                        FloatKind::Half | FloatKind::BFloat => {
                            half::decoded(u16::from_le_bytes([bytes[at], bytes[at + 1]]), *kind)
                        }
                        FloatKind::Double => {
                            let low = four(&bytes[at..at + 4]);
                            let high = four(&bytes[at + 4..at + 8]);
                            f64::from_bits(
                                u64::from(u32::from_le_bytes(low)) | u64::from(u32::from_le_bytes(high)) << 32,
                            )
                        }
                    };
                }
            }
        }
        memory
    }

    pub(crate) fn float(&self, buffer: usize, index: usize) -> f64 {
        match self.buffers[buffer].values[index] {
            Value::Float(float) => float,
            Value::Int(_) | Value::Pointer(_) => 0.0,
        }
    }
}

/// The integer that bytes of a type mean.
fn integer(bytes: &[u8], scalar: &Scalar) -> i128 {
    let is_negative =
        matches!(scalar, Scalar::Int(kind) if kind.is_signed()) && bytes.last().is_some_and(|last| *last >= 128);
    let mut whole = if is_negative { [0xff; 16] } else { [0; 16] };
    whole[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(whole)
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// The parts of nested fields, in order.
fn parts(spec: &Spec) -> Vec<&Spec> {
    if let Spec::Fields(fields) = spec { fields.iter().flat_map(parts).collect() } else { vec![spec] }
}

/// What is said of each element of an array: a list, or the texts of a program's arguments, which are not the fields of a
/// struct.
fn elements(spec: &Spec) -> Option<&[Spec]> {
    let is_text = |field: &Spec| matches!(field, Spec::Text(_));
    match spec {
        Spec::List(elements) => Some(elements),
        Spec::Fields(fields) => (!fields.is_empty() && fields.iter().all(is_text)).then_some(fields),
        Spec::Random(_)
        | Spec::Between(..)
        | Spec::Range(..)
        | Spec::Zeros(_)
        | Spec::Integers(..)
        | Spec::Number(_)
        | Spec::Text(_) => None,
    }
}
