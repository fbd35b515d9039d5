//! FlexRIC's models, in each of their wire forms.

use per::{Describe, Encode, Visitor};

use super::{Message, Read};
use crate::plain::Plain;
use crate::{Error, Wire, wire};

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

impl<T: Describe + Encode + Plain<'static>> Message for InWire<T> {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        wire::encode(&self.value, self.wire, out)
    }
}

macro_rules! in_wire {
    ($wire:ident, $($name:literal: $type:ty,)*) => {
        &[$(($name, |bytes, _| {
            let arena = crate::Arena::new();
            let value: $type = wire::decode(bytes, Wire::$wire, &arena)?;
            Ok(Box::new(super::InWire { value: per::IntoOwned::into_owned(value), wire: Wire::$wire }))
        }),)*]
    };
}

/// A model's messages, in either form.
macro_rules! models {
    ($($feature:literal $model:ident { $($name:literal: $type:ty,)* })*) => {$(
        #[cfg(feature = $feature)]
        pub mod $model {
            use super::*;
            use crate::$model::*;

            pub const PER: &[(&str, Read)] = in_wire!(Per, $($name: $type,)*);
            pub const PLAIN: &[(&str, Read)] = in_wire!(Plain, $($name: $type,)*);
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
