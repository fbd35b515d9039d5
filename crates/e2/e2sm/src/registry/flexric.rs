//! FlexRIC's models, in each of their wire forms.

use per::{Describe, Encode, Visitor};

use super::{Message, Read};
use crate::plain::Plain;
use crate::wire::{FlatEncode, model};
use crate::{Error, Wire};

/// A value that was read in a wire form.
struct InWire<T> {
    value: T,
    wire: Wire,
}

impl<T: Describe> Describe for InWire<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.value.describe(visitor);
    }
}

impl<T: Describe + Encode + FlatEncode + Plain<'static>> Message for InWire<T> {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        model::encode(&self.value, self.wire, out)
    }
    fn encode_as(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        model::encode(&self.value, wire, out)
    }
}

macro_rules! in_wire {
    ($wire:expr, $($name:literal: $type:ty,)*) => {
        &[$(($name, |bytes, _, asked| {
            let wire = match ($wire, asked) {
                (None, asked) => asked,
                (Some(wire), Wire::Per) => wire,
                (Some(_), asked) => return Err(Error::NotInWire(asked)),
            };
            let arena = crate::Arena::new();
            let value: $type = model::decode(bytes, wire, &arena)?;
            Ok(Box::new(super::InWire { value: per::IntoOwned::into_owned(value), wire }))
        }),)*]
    };
}

/// A model's messages: in PER or FlatBuffers, and in the plain layout.
macro_rules! models {
    ($($feature:literal $model:ident { $($name:literal: $type:ty,)* })*) => {$(
        #[cfg(feature = $feature)]
        pub mod $model {
            use super::*;
            use crate::$model::*;

            pub static PER: &[(&str, Read)] = in_wire!(None, $($name: $type,)*);
            pub static PLAIN: &[(&str, Read)] = in_wire!(Some(Wire::Plain), $($name: $type,)*);
        }
    )*};
}

/// A model that only reports.
macro_rules! statistics {
    ($($feature:literal $model:ident)*) => {
        models! {$(
            $feature $model {
                "RanFunctionDefinition": RanFunctionDefinition<'_>,
                "EventTriggerDefinition": EventTriggerDefinition,
                "IndicationHeader": IndicationHeader,
                "IndicationMessage": IndicationMessage<'_>,
                "ControlHeader": ControlHeader,
                "ControlMessage": ControlMessage,
            }
        )*}
    };
}

statistics! {
    "mac" mac
    "rlc" rlc
    "pdcp" pdcp
    "gtp" gtp
}

/// A model that is also controlled.
macro_rules! controls {
    ($($feature:literal $model:ident)*) => {
        models! {$(
            $feature $model {
                "RanFunctionDefinition": RanFunctionDefinition<'_>,
                "EventTriggerDefinition": EventTriggerDefinition,
                "IndicationHeader": IndicationHeader,
                "IndicationMessage": IndicationMessage<'_>,
                "ControlHeader": ControlHeader,
                "ControlMessage": ControlMessage<'_>,
                "ControlOutcome": ControlOutcome<'_>,
            }
        )*}
    };
}

controls! {
    "slice" slice
    "tc" tc
}
