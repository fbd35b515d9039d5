//! What can go wrong besides a single encoding.

use core::fmt;

/// An error of this crate. Reading and writing one message gives the more precise [`per::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes of a peer, or a value of ours, do not fit the type.
    Codec(per::Error),
    /// The text of a peer, or a value of ours, does not fit the type.
    #[cfg(feature = "ccc")]
    Json(crate::ccc::JsonError),
    /// The bytes of a peer, or a value of ours, do not fit FlexRIC's plain layout.
    #[cfg(feature = "flexric")]
    Plain(crate::plain::Error),
    /// Misuse: the model has no such wire form, or this build does not have it.
    NotInWire(crate::Wire),
    /// A RAN parameter of the peer's is missing or not what it should be.
    #[cfg(feature = "rc")]
    Parameter(crate::rc::ParameterError),
    /// The header and the message of a control, or its target and its actions, do not belong together.
    #[cfg(feature = "rc")]
    FormatsDoNotFit,
    /// The peer's object identifier is not one of this service model.
    UnknownOid,
    /// The peer's RAN function definition fits no revision that its object identifier allows; how the likeliest one
    /// failed.
    NoRevisionFits(per::Error),
    /// The peer offers no report style for that scope.
    NoReportStyle,
    /// The peer does not offer a measurement.
    NotOffered {
        /// The measurement.
        wanted: String,
        /// Those on offer that are spelled most like it, the likest first.
        nearest: Vec<String>,
    },
    /// Misuse: the text is not a revision of that service model.
    UnknownRevision {
        /// The service model, as `E2SM-KPM`.
        model: &'static str,
        /// The revisions that it has, as `3.00 and 4.00`.
        known: &'static str,
    },
    /// Misuse: the registry has no such type.
    UnknownType,
    /// Misuse: a wish without measurements, without UEs, or with a period of zero.
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
            Error::FormatsDoNotFit => f.write_str("the formats of header and message are not those of one control"),
            Error::UnknownOid => f.write_str("the object identifier is not one of the service model's"),
            #[cfg(feature = "flexric")]
            Error::Plain(error) => error.fmt(f),
            Error::NotInWire(crate::Wire::Flat) if cfg!(not(feature = "flat")) => {
                f.write_str("FlatBuffers are not built in: that takes the feature `flat` of e2sm")
            }
            Error::NotInWire(wire) => write!(f, "the model has no wire form {wire}"),
            Error::NoRevisionFits(error) => {
                write!(f, "the RAN function definition fits no revision of the service model: {error}")
            }
            Error::NoReportStyle => f.write_str("the node offers no report style for that scope"),
            Error::NotOffered { wanted, nearest } => {
                write!(f, "the node does not offer {wanted}")?;
                for (i, name) in nearest.iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { "; nearest are " } else { ", " })?;
                }
                Ok(())
            }
            Error::UnknownRevision { model, known } => write!(f, "not a revision of {model}; {known} are"),
            Error::UnknownType => f.write_str("no such type; e2sm::registry::types lists them"),
            Error::EmptyRequest => {
                f.write_str("a wish needs a measurement, a UE where it names UEs, and periods above zero")
            }
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
