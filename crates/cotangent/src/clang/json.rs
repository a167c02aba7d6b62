//! Reads JSON objects member by member, straight into what is made of them.
//!
//! A dump has hundreds of thousands of objects. Nothing of the JSON outlives its object, and a text that occurs again is
//! not kept again. Locations depend on those before them, so whoever takes a member has what was read before at hand.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ast::Value;
use super::place::Files;

/// How deeply a text may be nested, in braces and brackets.
///
/// Two of them make one level of Clang's tree. Clang's own default allows 256 nested parentheses; sums and `else if`
/// chains nest further.
pub(super) const MAX_DEPTH: usize = 3000;

/// Reads a text that is one object.
pub(super) fn object<T: Object>(json: &[u8], known: &mut Known) -> Result<T::Made, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.disable_recursion_limit();
    OneObject::<T> { known, object: PhantomData }.deserialize(&mut deserializer)
}

/// What is known from the text before.
#[derive(Default)]
pub(super) struct Known {
    pub(super) files: Files,
    texts: HashSet<Arc<str>>,
    /// How many braces and brackets are open.
    depth: usize,
}

impl Known {
    /// Whether reading has ended because of that.
    pub(super) fn is_too_deep(&self) -> bool {
        self.depth > MAX_DEPTH
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.is_too_deep() { Err(E::custom("it is nested too deeply")) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        text
    }
}

/// What is read from an object.
pub(super) trait Object: Default {
    /// What it becomes.
    type Made;

    /// Takes one member.
    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error>;

    /// All members were taken.
    fn made<E: Error>(self, known: &mut Known) -> Result<Self::Made, E>;
}

/// A member's value, before it is read.
pub(super) struct Member<'a, M> {
    pub(super) known: &'a mut Known,
    map: &'a mut M,
}

impl<'de, M: MapAccess<'de>> Member<'_, M> {
    /// One that nobody asks for.
    pub(super) fn skip(self) -> Result<(), M::Error> {
        self.map.next_value::<IgnoredAny>().map(drop)
    }

    /// One that has nothing to do with what was read before.
    pub(super) fn plain<T: Deserialize<'de>>(self) -> Result<T, M::Error> {
        self.map.next_value()
    }

    pub(super) fn value(self) -> Result<Value, M::Error> {
        self.map.next_value_seed(OneValue(self.known))
    }

    pub(super) fn text(self) -> Result<Arc<str>, M::Error> {
        match self.value()? {
            Value::Text(text) => Ok(text),
            Value::Number(_) | Value::Bool(_) => Err(Error::custom("a text was expected")),
        }
    }

    pub(super) fn object<T: Object>(self) -> Result<T::Made, M::Error> {
        self.map.next_value_seed(OneObject::<T> { known: self.known, object: PhantomData })
    }

    pub(super) fn list<T: Object>(self) -> Result<Vec<T::Made>, M::Error> {
        self.map.next_value_seed(List::<T> { known: self.known, object: PhantomData })
    }
}

struct OneValue<'a>(&'a mut Known);

impl<'de> DeserializeSeed<'de> for OneValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for OneValue<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, a whole number or a truth value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(self.0.text(text)))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Number).map_err(E::custom)
    }
}

struct OneObject<'a, T> {
    known: &'a mut Known,
    object: PhantomData<T>,
}

impl<'de, T: Object> DeserializeSeed<'de> for OneObject<'_, T> {
    type Value = T::Made;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Made, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Object> Visitor<'de> for OneObject<'_, T> {
    type Value = T::Made;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<T::Made, M::Error> {
        self.known.enter()?;
        let mut object = T::default();
        while let Some(key) = map.next_key::<&str>()? {
            object.member(key, Member { known: self.known, map: &mut map })?;
        }
        self.known.leave();
        object.made(self.known)
    }
}

struct List<'a, T> {
    known: &'a mut Known,
    object: PhantomData<T>,
}

impl<'de, T: Object> DeserializeSeed<'de> for List<'_, T> {
    type Value = Vec<T::Made>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T::Made>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Object> Visitor<'de> for List<'_, T> {
    type Value = Vec<T::Made>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Vec<T::Made>, S::Error> {
        self.known.enter()?;
        let mut made = Vec::new();
        while let Some(next) = list.next_element_seed(OneObject::<T> { known: self.known, object: PhantomData })? {
            made.push(next);
        }
        self.known.leave();
        // Most lists have one or two elements, and room for four.
        made.shrink_to_fit();
        Ok(made)
    }
}
