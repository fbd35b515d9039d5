//! The error of this crate.

use core::fmt;

/// An error of this crate. Decoding and encoding a single message in PER returns the more precise [`per::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The octets of a peer or a value to encode violate the type.
    Codec(per::Error),
    /// The JSON of a peer or a value to encode violates the type.
    #[cfg(feature = "ccc")]
    Json(crate::ccc::JsonError),
    /// The octets of a peer or a value to encode violate FlexRIC's plain layout.
    #[cfg(feature = "flexric")]
    Plain(crate::plain::Error),
    /// Misuse: the model has no such encoding, or it is not built in.
    NotInWire(crate::Wire),
    /// A RAN parameter of the peer is missing or malformed.
    #[cfg(feature = "rc")]
    Parameter(crate::rc::ParameterError),
    /// The header and the message of a control, or its target and its actions, do not match.
    #[cfg(feature = "rc")]
    FormatsDoNotFit,
    /// A control differs from what the RAN function definition of its node describes.
    #[cfg(feature = "rc")]
    Mismatch(crate::rc::ControlMismatch),
    /// The object identifier of the peer is not one of this service model.
    UnknownOid,
    /// No revision that the object identifier denotes decodes the RAN function definition of the peer; the error of the most
    /// likely one.
    NoRevisionFits(per::Error),
    /// The peer offers no report style for the scope.
    NoReportStyle,
    /// The peer does not offer a measurement.
    NotOffered {
        /// The measurement.
        wanted: String,
        /// The offered measurements with the most similar names, best match first.
        nearest: Vec<String>,
    },
    /// Misuse: the text is not a revision of the service model.
    UnknownRevision {
        /// The service model, such as `E2SM-KPM`.
        model: &'static str,
        /// Its revisions, such as `3.00 or 4.00`.
        known: &'static str,
    },
    /// Misuse: the registry has no such type.
    UnknownType,
    /// Misuse: a request without measurements, without UEs or with a period of zero.
    EmptyRequest,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Codec(error) => error.fmt(f),
            #[cfg(feature = "ccc")]
            Error::Json(error) => error.fmt(f),
            #[cfg(feature = "rc")]
            Error::Parameter(error) => error.fmt(f),
            #[cfg(feature = "rc")]
            Error::FormatsDoNotFit => f.write_str("header and message are not of the same control"),
            #[cfg(feature = "rc")]
            Error::Mismatch(error) => error.fmt(f),
            Error::UnknownOid => f.write_str("the object identifier is not one of this service model"),
            #[cfg(feature = "flexric")]
            Error::Plain(error) => error.fmt(f),
            Error::NotInWire(crate::Wire::Flat) if cfg!(not(feature = "flat")) => {
                f.write_str("FlatBuffers are not built in: enable the feature `flat` of e2sm")
            }
            Error::NotInWire(wire) => write!(f, "the model has no encoding {wire}"),
            Error::NoRevisionFits(error) => {
                write!(f, "no revision of the service model decodes the RAN function definition: {error}")
            }
            Error::NoReportStyle => f.write_str("the node offers no report style for this scope"),
            Error::NotOffered { wanted, nearest } => {
                write!(f, "the node does not offer {wanted}")?;
                for (i, name) in nearest.iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { "; similar: " } else { ", " })?;
                }
                Ok(())
            }
            Error::UnknownRevision { model, known } => write!(f, "not a revision of {model}: expected {known}"),
            Error::UnknownType => f.write_str("unknown type; e2sm::registry::types lists all types"),
            Error::EmptyRequest => f.write_str(
                "a request needs measurements, UEs or conditions for a scope of UEs, and periods above zero",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<per::Error> for Error {
    fn from(error: per::Error) -> Self {
        Error::Codec(error)
    }
}

#[cfg(feature = "ccc")]
impl From<crate::ccc::JsonError> for Error {
    fn from(error: crate::ccc::JsonError) -> Self {
        Error::Json(error)
    }
}

#[cfg(feature = "flexric")]
impl From<crate::plain::Error> for Error {
    fn from(error: crate::plain::Error) -> Self {
        Error::Plain(error)
    }
}
