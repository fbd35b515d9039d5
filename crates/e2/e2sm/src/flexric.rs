//! The messages that FlexRIC's models share: RAN function definition, event trigger, empty headers, empty control.
//!
//! These models have no action definition: an action without or with an empty definition reports everything.

use per::{Per, PrintableString};

use crate::plain::{Error, Plain, Reader, Writer};
use crate::wire::message;

/// The RAN function definition: the name of the model.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// The name, such as `MAC_STATS_V0`.
    #[per(size = 1..=150, extensible)]
    pub name: PrintableString<'a>,
}

message!(RanFunctionDefinition, borrowing);

impl<'a> Plain<'a> for RanFunctionDefinition<'a> {
    const NAME: &'static str = "RanFunctionDefinition";
    const LEAST: usize = 1;

    /// The characters, without a length.
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.left();
        Ok(RanFunctionDefinition { name: reader.characters(count)? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.octets(self.name.as_bytes());
        Ok(())
    }
}

/// Declares messages of one number.
macro_rules! number {
    ($($(#[$about:meta])* $name:ident { $(#[$meaning:meta])* $field:ident })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
        #[per(extensible)]
        pub struct $name {
            $(#[$meaning])*
            pub $field: u32,
        }

        message!($name, owning);

        impl Plain<'_> for $name {
            const NAME: &'static str = stringify!($name);
            const LEAST: usize = 4;

            fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
                Ok($name { $field: reader.number()? })
            }

            fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
                writer.number(self.$field);
                Ok(())
            }
        }
    )*};
}

number! {
    /// The event trigger: periodic reports.
    EventTriggerDefinition {
        /// The reporting period in milliseconds, at least 1.
        period_ms
    }

    /// The header of an indication. The message contains the time stamp.
    IndicationHeader {
        /// Unused; ferric sends 0.
        unused
    }

    /// The header of a control.
    ControlHeader {
        /// Unused; FlexRIC's xApps send 0 or 1.
        unused
    }

    /// The control message of the statistics models. FlexRIC's nodes acknowledge and ignore it; ferric's reject it.
    ControlMessage {
        /// Unused.
        action
    }
}
