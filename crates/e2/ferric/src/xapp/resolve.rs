//! What names a UE, a cell, a network slice or a kind of messages in a call: a text, or the noun itself.

use e2::topology::UeReference;
use e2sm::common::RrcMessageId;

use super::error::Error;
use super::names::{CellId, NetworkSlice};
use super::ric::Cell;
use super::rrc;
use super::ue::Ue;

/// A name of a `T`: a text, which is read when the verb is called, or a value.
pub trait IntoName<T> {
    /// Reads the name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a text that has not the form of such a name.
    fn into_name(self) -> Result<T, Error>;
}

/// Reads a name.
pub(super) fn name<T>(name: impl IntoName<T>) -> Result<T, Error> {
    name.into_name()
}

macro_rules! named_by_text {
    ($($name:ty: $read:expr;)*) => {$(
        impl IntoName<$name> for $name {
            fn into_name(self) -> Result<$name, Error> {
                Ok(self)
            }
        }

        impl IntoName<$name> for &$name {
            fn into_name(self) -> Result<$name, Error> {
                Ok(self.clone())
            }
        }

        impl IntoName<$name> for &str {
            fn into_name(self) -> Result<$name, Error> {
                $read(self)
            }
        }

        impl IntoName<$name> for &String {
            fn into_name(self) -> Result<$name, Error> {
                $read(self)
            }
        }

        impl IntoName<$name> for String {
            fn into_name(self) -> Result<$name, Error> {
                $read(&self)
            }
        }
    )*};
}

named_by_text! {
    UeReference: |text: &str| text.parse().map_err(|error: e2::topology::UeReferenceError| {
        Error::invalid("ue", text, format!("the name of a UE: {error}"))
    });
    CellId: |text: &str| text.parse();
    NetworkSlice: |text: &str| text.parse();
    RrcMessageId: rrc::kind;
}

impl IntoName<UeReference> for &Ue {
    fn into_name(self) -> Result<UeReference, Error> {
        Ok(self.reference().clone())
    }
}

impl IntoName<CellId> for &Cell {
    fn into_name(self) -> Result<CellId, Error> {
        Ok(self.id())
    }
}
