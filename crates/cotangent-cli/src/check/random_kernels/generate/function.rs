//! Random device functions, and calls of them.

use super::super::tree::{Kind, Part};
use super::{Ctx, Device, Field, Float, Formal, GLOBAL, Passing, Shape, text};

impl Ctx {
    /// Makes a function that what comes after it can call.
    pub(super) fn function(&mut self) {
        let formals: Vec<Formal> = (0..1 + self.below(3)).map(|_| self.formal()).collect();
        let changes = formals.iter().any(|formal| matches!(formal.passing, Passing::Reference | Passing::Pointer));
        let result = match self.below(5) {
            0 | 1 if changes => None,
            2 if !self.records.is_empty() => Some(Shape::Record(self.below(self.records.len()))),
            _ => Some(Shape::Scalar(self.float())),
        };
        let name = format!("f{}@", self.devices.len());
        let spelled = result.as_ref().map_or("void".to_owned(), spelling);
        let mut parts = vec![text(format!("__device__ {spelled} ")), Part::Define(name.clone()), text("(")];
        for (index, formal) in formals.iter().enumerate() {
            let parameter = self.name();
            let comma = if index == 0 { "" } else { ", " };
            let ty = spelling(&formal.shape);
            let ty = match formal.passing {
                Passing::Value => format!("{ty} "),
                Passing::ConstReference => format!("const {ty}& "),
                Passing::Reference => format!("{ty}& "),
                Passing::ConstPointer => format!("const {ty}* "),
                Passing::Pointer => format!("{ty}* "),
            };
            parts.extend([text(format!("{comma}{ty}")), Part::Define(parameter.clone())]);
            let is_const = matches!(formal.passing, Passing::ConstReference | Passing::ConstPointer);
            let is_int = matches!(formal.shape, Shape::Int(_));
            self.declare(&parameter, formal.shape.clone(), !is_const && !is_int);
            if matches!(formal.shape, Shape::Pointer(..)) {
                self.in_group(GLOBAL + 1 + index);
            }
        }
        parts.push(text(") "));
        self.result = result.clone();
        self.statements = 1 + self.below(6);
        self.budget = 0.8;
        self.trips = 1;
        let body = self.body();
        parts.push(Part::Node(body));
        let function = self.node(Kind::Global, parts);
        self.globals.push(function);
        self.scope.clear();
        self.result = None;
        self.block = 0;
        self.devices.push(Device { name, formals, result });
    }

    fn formal(&mut self) -> Formal {
        let float = self.float();
        let (shape, passing) = match self.below(12) {
            0..=2 => (Shape::Scalar(float), Passing::Value),
            3 => (Shape::Scalar(float), Passing::ConstReference),
            4 | 5 => (Shape::Scalar(float), Passing::Reference),
            6 => (Shape::Pointer(float, 2 + self.below(2)), Passing::ConstPointer),
            7 => (Shape::Pointer(float, 2 + self.below(2)), Passing::Pointer),
            8 => (Shape::Int(64), Passing::Value),
            _ if self.records.is_empty() => (Shape::Scalar(float), Passing::Value),
            9 => (Shape::Record(self.below(self.records.len())), Passing::Value),
            10 => (Shape::Record(self.below(self.records.len())), Passing::ConstReference),
            _ => (Shape::Record(self.below(self.records.len())), Passing::Reference),
        };
        Formal { shape, passing }
    }

    /// A call, if there is something to call the function with.
    pub(super) fn call(&mut self, device: &Device) -> Option<Vec<Part>> {
        let mut parts = vec![text(format!("{}(", device.name))];
        for (index, formal) in device.formals.iter().enumerate() {
            if index > 0 {
                parts.push(text(", "));
            }
            parts.extend(self.actual(formal)?);
        }
        parts.push(text(")"));
        Some(parts)
    }

    fn actual(&mut self, formal: &Formal) -> Option<Vec<Part>> {
        match (&formal.shape, formal.passing) {
            (Shape::Int(_), _) => Some(vec![Part::Node(self.int(1))]),
            (Shape::Scalar(_), Passing::Value) => {
                let value = self.value(1);
                Some(vec![Part::Node(self.tamed(value, false).node)])
            }
            (Shape::Scalar(float), passing) => {
                let float = *float;
                let is_reference = passing == Passing::Reference;
                for _ in 0..8 {
                    let variable = self.pick(|it| it.is_mutable || !is_reference)?;
                    if let Some((parts, found)) = self.place_in(&variable)
                        && found == float
                    {
                        return Some(parts);
                    }
                }
                None
            }
            (Shape::Pointer(float, count), passing) => {
                self.window(*float, *count, passing == Passing::Pointer, None).map(|(parts, _)| parts)
            }
            (Shape::Record(record), passing) => {
                let (record, is_reference) = (*record, passing == Passing::Reference);
                let fits = |shape: &Shape| *shape == Shape::Record(record);
                let variable = self.pick(|it| fits(&it.shape) && (it.is_mutable || !is_reference))?;
                Some(vec![text(variable.name)])
            }
            (Shape::Array(..) | Shape::Matrix(..), _) => None,
        }
    }

    /// A pointer to so many elements, as an expression, and its group; of a group, if need be.
    pub(super) fn window(
        &mut self,
        float: Float,
        count: usize,
        is_written: bool,
        group: Option<usize>,
    ) -> Option<(Vec<Part>, usize)> {
        let variable = self.pick(|it| {
            let fits = match it.shape {
                Shape::Array(of, length) | Shape::Pointer(of, length) => of == float && length >= count,
                Shape::Matrix(of, _, columns) => of == float && columns >= count,
                Shape::Scalar(_) | Shape::Int(_) | Shape::Record(_) => false,
            };
            fits && (it.is_mutable || !is_written) && group.is_none_or(|group| group == it.group)
        })?;
        let name = variable.name;
        let parts = match variable.shape {
            Shape::Array(_, length) | Shape::Pointer(_, length) => {
                let spare = length - count;
                if spare > 0 && self.chance(50) {
                    let index = self.index(spare + 1);
                    match self.chance(50) {
                        true => vec![text(format!("{name} + ")), index],
                        false => vec![text(format!("&{name}[")), index, text("]")],
                    }
                } else {
                    vec![text(name)]
                }
            }
            Shape::Matrix(_, rows, _) => {
                let row = self.index(rows);
                vec![text(format!("{name}[")), row, text("]")]
            }
            Shape::Scalar(_) | Shape::Int(_) | Shape::Record(_) => vec![text(name)],
        };
        Some((parts, variable.group))
    }

    /// All fields of a struct, as the braces of an initialiser.
    pub(super) fn fields(&mut self, record: usize) -> Vec<Part> {
        let mut parts = vec![text("{")];
        for (index, field) in self.records[record].clone().into_iter().enumerate() {
            if index > 0 {
                parts.push(text(", "));
            }
            match field {
                Field::Scalar(float) => parts.extend(self.converted(float)),
                Field::Array(float, count) => parts.extend(self.elements(float, count)),
            }
        }
        parts.push(text("}"));
        parts
    }
}

/// A type as it is written.
pub(super) fn spelling(shape: &Shape) -> String {
    match shape {
        Shape::Scalar(float) | Shape::Array(float, _) | Shape::Matrix(float, ..) | Shape::Pointer(float, _) => {
            float.spelling().to_owned()
        }
        Shape::Int(_) => "int".to_owned(),
        Shape::Record(record) => format!("S{record}@"),
    }
}
