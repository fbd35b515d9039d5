//! Parsing of a peer's text into a bounded tree.

use core::cell::RefCell;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{JsonError, JsonErrorKind, MAX_DEPTH, MAX_OCTETS, MAX_VALUES, Path};

/// JSON as a bounded tree without repeated keys.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    if bytes.len() > MAX_OCTETS {
        return Err(Path::Root.error(JsonErrorKind::TooLong));
    }
    let state = RefCell::new(State { values: 0, refused: None });
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Tree { state: &state, at: &Path::Root, depth: 0 };
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        let syntax = JsonErrorKind::Syntax { line: error.line(), column: error.column() };
        state.into_inner().refused.unwrap_or_else(|| Path::Root.error(syntax))
    })
}

struct State {
    values: usize,
    /// The fault found by this module, as opposed to the JSON parser.
    refused: Option<JsonError>,
}

/// Parses a value.
#[derive(Clone, Copy)]
struct Tree<'t> {
    state: &'t RefCell<State>,
    at: &'t Path<'t>,
    depth: usize,
}

impl Tree<'_> {
    fn refuse<E: serde::de::Error>(&self, kind: JsonErrorKind) -> E {
        self.state.borrow_mut().refused.get_or_insert_with(|| self.at.error(kind));
        E::custom("refused") // replaced by the recorded fault
    }

    /// Begins a list or an object.
    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.depth == MAX_DEPTH { Err(self.refuse(JsonErrorKind::TooDeep)) } else { Ok(self.depth + 1) }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.state.borrow_mut().values += 1;
        if self.state.borrow().values > MAX_VALUES {
            return Err(self.refuse(JsonErrorKind::TooManyValues));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        loop {
            let at = Path::Item(self.at, list.len());
            match items.next_element_seed(Tree { state: self.state, at: &at, depth })? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let at = self.at.key(&key);
            let field = Tree { state: self.state, at: &at, depth };
            if map.contains_key(&key) {
                return Err(field.refuse(JsonErrorKind::Repeated));
            }
            let value = fields.next_value_seed(field)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
