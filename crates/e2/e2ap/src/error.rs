//! Errors of received PDUs, and the causes and diagnostics with which E2AP reports them (E2AP v03.01 10).

use core::fmt;

use crate::{
    Cause, CauseProtocol, Criticality, CriticalityDiagnostics, CriticalityDiagnosticsIe, Kind, ProcedureCode,
    ProtocolIeId, TypeOfError,
};

/// A PDU that cannot be decoded. The peer is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The header of the PDU cannot be decoded.
    Header(per::Error),
    /// The version does not have the procedure, or not this message of it.
    UnknownProcedure {
        /// The kind of message.
        kind: Kind,
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The criticality that the sender assigned.
        criticality: Criticality,
    },
    /// The list of IEs cannot be decoded.
    Container {
        /// The kind of message.
        kind: Kind,
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The error and its position.
        source: per::Error,
    },
    /// An IE that makes the whole message unusable.
    Ie {
        /// The kind of message.
        kind: Kind,
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The IE.
        ie: ProtocolIeId,
        /// The name of its field; empty for an unknown IE.
        name: &'static str,
        /// Its criticality.
        criticality: Criticality,
        /// The fault.
        fault: IeFault,
    },
}

/// The fault of an IE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IeFault {
    /// The value cannot be decoded.
    Malformed(per::Error),
    /// The IE is mandatory and missing (E2AP v03.01 10.3.5).
    Missing,
    // Clause 10.3.4.2/9 both: Criticality diagnostics name each IE that was rejected or is reported. Does: a rejected
    //   message names the first such IE: decoding ends there. Tests:
    //   unknown_ie_with_criticality_reject_rejects_message, ies_with_criticality_notify_are_reported.
    // Clause 10.3.5/6 both: Criticality diagnostics name each missing IE. Does: as for 10.3.4.2/9. Tests:
    //   missing_mandatory_ie_is_reported.
    /// The IE is unknown, and its criticality is reject (E2AP v03.01 10.3.4.2).
    Unknown {
        /// The bit at which the IE begins.
        bit: usize,
    },
    /// The IE occurs twice (E2AP v03.01 10.3.6).
    Duplicate {
        /// The bit at which the second one begins.
        bit: usize,
    },
    /// The IE follows one that it must precede (E2AP v03.01 10.3.6). The decoder accepts it, and reports it by
    /// [`Decoded::out_of_order`](crate::Decoded::out_of_order).
    OutOfOrder {
        /// The bit at which the IE begins.
        bit: usize,
    },
}

impl Error {
    /// Returns the cause for the response.
    #[must_use]
    pub fn cause(&self) -> Cause {
        Cause::Protocol(match self {
            Error::Header(_) | Error::Container { .. } => CauseProtocol::TransferSyntaxError,
            // E2AP v03.01 10.2, 10.3.1: a value behind an extension marker can be decoded, but is not comprehended
            Error::Ie { fault: IeFault::Malformed(source), .. } if source.kind != per::ErrorKind::UnknownExtension => {
                CauseProtocol::TransferSyntaxError
            }
            Error::Ie { fault: IeFault::Duplicate { .. } | IeFault::OutOfOrder { .. }, .. } => {
                CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage
            }
            Error::UnknownProcedure { criticality, .. } | Error::Ie { criticality, .. } => match criticality {
                Criticality::Reject => CauseProtocol::AbstractSyntaxErrorReject,
                _ => CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify,
            },
        })
    }

    /// Returns the message and the procedure, if they could be decoded.
    #[must_use]
    pub fn message(&self) -> Option<(Kind, ProcedureCode)> {
        match *self {
            Error::Header(_) => None,
            Error::UnknownProcedure { kind, procedure_code, .. }
            | Error::Container { kind, procedure_code, .. }
            | Error::Ie { kind, procedure_code, .. } => Some((kind, procedure_code)),
        }
    }

    /// Returns the diagnostics for the response.
    #[must_use]
    pub fn diagnostics(&self) -> Option<CriticalityDiagnostics<'static>> {
        let (kind, procedure_code) = self.message()?;
        let mut diagnostics = CriticalityDiagnostics {
            procedure_code: Some(procedure_code),
            triggering_message: Some(kind.triggering_message()),
            ..Default::default()
        };
        match *self {
            Error::UnknownProcedure { criticality, .. } => diagnostics.procedure_criticality = Some(criticality),
            Error::Ie { ie, criticality, fault, .. } => {
                let type_of_error = match fault {
                    IeFault::Missing => TypeOfError::Missing,
                    _ => TypeOfError::NotUnderstood,
                };
                let item = CriticalityDiagnosticsIe { criticality, ie_id: ie, type_of_error };
                diagnostics.ies = Some(vec![item].into());
            }
            _ => {}
        }
        Some(diagnostics)
    }

    /// Returns the position of the error, in bits from the start of the PDU, if it has one.
    ///
    /// A message of 16384 octets or more is fragmented: its bits are counted from the start of the reassembled message.
    #[must_use]
    pub fn bit(&self) -> Option<usize> {
        match self {
            Error::Header(source)
            | Error::Container { source, .. }
            | Error::Ie { fault: IeFault::Malformed(source), .. } => Some(source.bit),
            Error::Ie {
                fault: IeFault::Unknown { bit } | IeFault::Duplicate { bit } | IeFault::OutOfOrder { bit },
                ..
            } => Some(*bit),
            Error::UnknownProcedure { .. } => Some(8),
            Error::Ie { fault: IeFault::Missing, .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Header(source) => write!(f, "not an E2AP PDU: {source}"),
            Error::UnknownProcedure { kind, procedure_code, .. } => {
                write!(f, "{kind} of {procedure_code:?} is not in this version")
            }
            Error::Container { kind, procedure_code, source } => {
                write!(f, "cannot decode IEs of {kind} of {procedure_code:?}: {source}")
            }
            Error::Ie { kind, procedure_code, ie, name, fault, .. } => {
                write!(f, "IE {}", ie.0)?;
                if !name.is_empty() {
                    write!(f, " ({name})")?;
                }
                write!(f, " in the {kind} of {procedure_code:?} ")?;
                match fault {
                    IeFault::Malformed(source) => write!(f, "cannot be decoded: {source}"),
                    IeFault::Missing => f.write_str("is missing"),
                    IeFault::Unknown { bit } => write!(f, "at bit {bit} is unknown, with criticality reject"),
                    IeFault::Duplicate { bit } => write!(f, "is repeated at bit {bit}"),
                    IeFault::OutOfOrder { bit } => write!(f, "at bit {bit} is out of order"),
                }
            }
        }
    }
}

impl std::error::Error for Error {}
