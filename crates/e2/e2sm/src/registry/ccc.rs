//! E2SM-CCC: JSON, and names of our own for its messages.

use per::{Describe, Visitor};
use serde_json::Value;

use super::{Message, Read};
use crate::ccc::json::{self, Json};
use crate::ccc::*;
use crate::{Error, Wire};

struct Text<T>(T);

impl<T: Json> Describe for Text<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visit(&self.0.write(), visitor);
    }
}

impl<T: Json> Message for Text<T> {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(json::encode(&self.0, out)?)
    }
    fn encode_as(&self, wire: Wire, _: &mut Vec<u8>) -> Result<(), Error> {
        Err(Error::NotInWire(wire))
    }
}

fn visit(value: &Value, visitor: &mut dyn Visitor) {
    match value {
        Value::Null => visitor.null(),
        Value::Bool(value) => visitor.boolean(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => visitor.integer(whole),
            None => visitor.real(number.as_f64().unwrap_or(f64::NAN)), // always one, as nothing else was read
        },
        Value::String(text) => visitor.text(text),
        Value::Array(items) => {
            visitor.begin_list();
            items.iter().for_each(|item| visit(item, visitor));
            visitor.end_list();
        }
        Value::Object(fields) => {
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
        &[$(($name, |bytes, _, wire| match wire {
            // as it is specified, which is JSON here
            Wire::Per => Ok(Box::new(Text(json::decode::<$type>(bytes)?))),
            wire => Err(Error::NotInWire(wire)),
        }),)*]
    };
}

pub(super) static TYPES: &[(&str, Read)] = texts! {
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
