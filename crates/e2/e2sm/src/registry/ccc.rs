//! E2SM-CCC: JSON, and names of our own for its messages.

use per::{Describe, Visitor};

use super::{Codec, Value};
use crate::ccc::json::{self, Json};
use crate::ccc::*;
use crate::{Error, Wire};

struct Text<T>(T);

impl<T: Json> Describe for Text<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visit(&self.0.write(), visitor);
    }
}

impl<T: Json> Value for Text<T> {
    fn encode(&self, _: u8, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        match wire {
            Wire::Per => Ok(json::encode(&self.0, out)?),
            wire => Err(Error::NotInWire(wire)),
        }
    }
}

fn visit(value: &serde_json::Value, visitor: &mut dyn Visitor) {
    match value {
        serde_json::Value::Null => visitor.null(),
        serde_json::Value::Bool(value) => visitor.boolean(*value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => visitor.integer(whole),
            None => visitor.real(number.as_f64().unwrap_or(f64::NAN)), // always one, as nothing else was read
        },
        serde_json::Value::String(text) => visitor.text(text),
        serde_json::Value::Array(items) => {
            visitor.begin_list();
            items.iter().for_each(|item| visit(item, visitor));
            visitor.end_list();
        }
        serde_json::Value::Object(fields) => {
            visitor.begin_record();
            for (name, value) in fields {
                visitor.field(name);
                visit(value, visitor);
            }
            visitor.end_record();
        }
    }
}

macro_rules! texts {
    ($($name:literal: $type:ty,)*) => {
        &[$(($name, Codec::Json(|bytes| Ok(Box::new(Text(json::decode::<$type>(bytes)?))))),)*]
    };
}

pub(super) static TYPES: &[(&str, Codec)] = texts! {
    "RANFunctionDefinition": RanFunctionDefinition,
    "RICEventTriggerDefinition": EventTriggerDefinition,
    "RICActionDefinition": ActionDefinition,
    "RIC-Indication-Header": IndicationHeader,
    "RIC-Indication-Message": IndicationMessage,
    "RIC-Control-Header": ControlHeader,
    "RIC-Control-Message": ControlMessage,
    "RIC-Control-Outcome": ControlOutcome,
    "RIC-Query-Header": QueryHeader,
    "RIC-Query-Definition": QueryDefinition,
    "RIC-Query-Outcome": QueryOutcome,
};
