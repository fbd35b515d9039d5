//! FlexRIC's models, in each of their wire forms.

use std::marker::PhantomData;

use per::{Describe, Encode, Visitor};

use super::{Codec, Value, per_codec};
use crate::plain::{self, Plain};
use crate::wire::{FlatEncode, model};
use crate::{Error, Wire};

/// A value with a plain layout; `'a` is the lifetime of the octets that it was decoded from.
struct Flexric<'a, T>(T, PhantomData<&'a ()>);

impl<T> From<T> for Flexric<'_, T> {
    fn from(value: T) -> Self {
        Flexric(value, PhantomData)
    }
}

impl<T: Describe> Describe for Flexric<'_, T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.0.describe(visitor);
    }
}

impl<'a, T: Describe + Encode + FlatEncode + Plain<'a>> Value for Flexric<'a, T> {
    fn encode(&self, _: u8, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        model::encode(&self.0, wire, out)
    }
}

/// A model's messages: in PER or FlatBuffers, and in the plain layout.
macro_rules! models {
    ($($feature:literal $model:ident { $($name:literal: $type:ty,)* })*) => {$(
        #[cfg(feature = $feature)]
        pub mod $model {
            use super::*;
            use crate::$model::*;

            pub static PER: &[(&str, Codec)] = &[$(($name, per_codec!($type, Flexric::from)),)*];
            pub static PLAIN: &[(&str, Codec)] = &[$(($name, Codec::Plain(|bytes, arena| {
                let value: $type = plain::decode(bytes, arena)?;
                Ok(Box::new(Flexric::from(value)))
            })),)*];
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
