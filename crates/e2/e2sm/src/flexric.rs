//! What FlexRIC's models share: the event trigger, headers that say nothing, a control that does nothing.
//!
//! None of these models has an action definition: an action without one, or with an empty one, reports everything.

use per::{Per, PrintableString};

use crate::plain::{Error, Plain, Reader, Writer};
use crate::wire::message;

/// The RAN function definition: the model's name and nothing else.
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

/// A message that is one number.
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
    /// When a node reports: again and again.
    EventTriggerDefinition {
        /// Milliseconds from report to report, at least 1.
        period_ms
    }

    /// The header of an indication. When it was made stands in its message.
    IndicationHeader {
        /// A number without meaning: 0 in what we write.
        unused
    }

    /// The header of a control.
    ControlHeader {
        /// A number without meaning: FlexRIC's xApps write 0 or 1.
        unused
    }

    /// The control message of the statistics models. FlexRIC's nodes acknowledge it and do nothing; ours refuse it.
    ControlMessage {
        /// A number without meaning.
        action
    }
}
