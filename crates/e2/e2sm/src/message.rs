//! Decoding and encoding functions of messages.

/// Implements the decoding and encoding functions of a message. The `Revision` of the model is in the parent module.
#[cfg(any(feature = "kpm", feature = "rc"))]
macro_rules! message {
    ($name:ident, lists) => {
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`; lists are stored in `arena`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(
                bytes: &'a [u8],
                revision: super::Revision,
                arena: &'a $crate::Arena,
            ) -> Result<Self, per::Error> {
                let mut reader = per::Reader::with_store(bytes, revision.of_messages()?, arena);
                let value = <Self as per::Decode<_>>::decode(&mut reader)?;
                reader.finish()?;
                Ok(value)
            }

            /// Decodes all of `bytes` into a value that borrows nothing.
            ///
            /// # Errors
            /// A malformed encoding.
            #[inline]
            pub fn decode_owned(
                bytes: &[u8],
                revision: super::Revision,
            ) -> Result<$name<'static>, per::Error> {
                let arena = $crate::Arena::new();
                $name::decode(bytes, revision, &arena).map(per::IntoOwned::into_owned)
            }
        }
        $crate::message::message!(@decode_in $name);
        $crate::message::message!(@encode $name<'_>);
    };
    ($name:ident, no lists) => {
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(bytes: &'a [u8], revision: super::Revision) -> Result<Self, per::Error> {
                per::decode(bytes, revision.of_messages()?)
            }
        }
        $crate::message::message!(@decode_in $name);
        $crate::message::message!(@encode $name<'_>);
    };
    ($name:ident, no borrow) => {
        impl $name {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(bytes: &[u8], revision: super::Revision) -> Result<Self, per::Error> {
                per::decode(bytes, revision.of_messages()?)
            }

            /// As [`Self::decode`], in any encoding.
            ///
            /// # Errors
            /// A malformed encoding; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn decode_in(
                bytes: &[u8],
                revision: super::Revision,
                wire: $crate::Wire,
            ) -> Result<Self, $crate::Error> {
                let arena = $crate::Arena::new();
                $crate::wire::decode(bytes, revision.of_messages()?, wire, &arena)
            }
        }
        $crate::message::message!(@encode $name);
    };
    (@decode_in $name:ident) => {
        impl<'a> $name<'a> {
            /// As [`Self::decode`], in any encoding; lists are stored in `arena`.
            ///
            /// # Errors
            /// A malformed encoding; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn decode_in(
                bytes: &'a [u8],
                revision: super::Revision,
                wire: $crate::Wire,
                arena: &'a $crate::Arena,
            ) -> Result<Self, $crate::Error> {
                $crate::wire::decode(bytes, revision.of_messages()?, wire, arena)
            }
        }
    };
    (@encode $type:ty) => {
        impl $type {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its constraints, or one that `revision` cannot carry.
            pub fn encode(&self, revision: super::Revision, out: &mut Vec<u8>) -> Result<(), per::Error> {
                per::encode(self, revision.of_messages()?, out)
            }

            /// As [`Self::encode`], in any encoding.
            ///
            /// # Errors
            /// As [`Self::encode`]; [`Error::NotInWire`](crate::Error::NotInWire).
            pub fn encode_in(
                &self,
                revision: super::Revision,
                wire: $crate::Wire,
                out: &mut Vec<u8>,
            ) -> Result<(), $crate::Error> {
                $crate::wire::encode(self, revision.of_messages()?, wire, out)
            }
        }
    };
}
#[cfg(any(feature = "kpm", feature = "rc"))]
pub(crate) use message;

/// The same for a model, or a revision of a model, with one wire format: 0, unless another one is stated.
#[cfg(any(feature = "kpm", feature = "llc", feature = "ni"))]
macro_rules! message_of_one_format {
    ($name:ident, lists) => {
        $crate::message::message_of_one_format!($name, lists, 0);
    };
    ($name:ident, no lists) => {
        $crate::message::message_of_one_format!($name, no lists, 0);
    };
    ($name:ident, no borrow) => {
        $crate::message::message_of_one_format!($name, no borrow, 0);
    };
    ($name:ident, lists, $wire:expr) => {
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`; lists are stored in `arena`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(bytes: &'a [u8], arena: &'a $crate::Arena) -> Result<Self, per::Error> {
                let mut reader = per::Reader::with_store(bytes, $wire, arena);
                let value = <Self as per::Decode<_>>::decode(&mut reader)?;
                reader.finish()?;
                Ok(value)
            }

            /// Decodes all of `bytes` into a value that borrows nothing.
            ///
            /// # Errors
            /// A malformed encoding.
            #[inline]
            pub fn decode_owned(bytes: &[u8]) -> Result<$name<'static>, per::Error> {
                let arena = $crate::Arena::new();
                $name::decode(bytes, &arena).map(per::IntoOwned::into_owned)
            }
        }
        $crate::message::message_of_one_format!(@encode $name<'_>, $wire);
    };
    ($name:ident, no lists, $wire:expr) => {
        impl<'a> $name<'a> {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(bytes: &'a [u8]) -> Result<Self, per::Error> {
                per::decode(bytes, $wire)
            }
        }
        $crate::message::message_of_one_format!(@encode $name<'_>, $wire);
    };
    ($name:ident, no borrow, $wire:expr) => {
        impl $name {
            /// Decodes all of `bytes`.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn decode(bytes: &[u8]) -> Result<Self, per::Error> {
                per::decode(bytes, $wire)
            }
        }
        $crate::message::message_of_one_format!(@encode $name, $wire);
    };
    (@encode $type:ty, $wire:expr) => {
        impl $type {
            /// Appends the encoding to `out`. After an error `out` is as it was.
            ///
            /// # Errors
            /// A value outside its constraints.
            pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), per::Error> {
                per::encode(self, $wire, out)
            }
        }
    };
}
#[cfg(any(feature = "kpm", feature = "llc", feature = "ni"))]
pub(crate) use message_of_one_format;
