//! What can be wrong with a PDU, and how E2AP says so to who sent it (E2AP v03.01 10).

use core::fmt;

use crate::{
    Cause, CauseProtocol, Criticality, CriticalityDiagnostics, CriticalityDiagnosticsIe, Kind, ProcedureCode,
    ProtocolIeId, TypeOfError,
};

/// A PDU that could not be read. All of it is the peer's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not even the procedure can be read.
    Header(per::Error),
    /// The procedure, or this message of it, is not one of this version.
    UnknownProcedure {
        /// Which message.
        kind: Kind,
        /// Which procedure.
        procedure_code: ProcedureCode,
        /// What the sender wants done about it.
        criticality: Criticality,
    },
    /// The list of IEs cannot be walked over.
    Container {
        /// Which message.
        kind: Kind,
        /// Which procedure.
        procedure_code: ProcedureCode,
        /// What is wrong, and where.
        source: per::Error,
    },
    /// An IE that makes the whole message unusable.
    Ie {
        /// Which message.
        kind: Kind,
        /// Which procedure.
        procedure_code: ProcedureCode,
        /// Which IE.
        ie: ProtocolIeId,
        /// Its name here, or empty where it is unknown.
        name: &'static str,
        /// Its criticality.
        criticality: Criticality,
        /// What is wrong with it.
        fault: IeFault,
    },
}

/// What is wrong with an IE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IeFault {
    /// Its value cannot be read.
    Malformed(per::Error),
    /// It is mandatory and not there (E2AP v03.01 10.3.5).
    Missing,
    /// It is unknown, and its criticality is reject (E2AP v03.01 10.3.4.2).
    Unknown {
        /// Where it begins, in bits.
        bit: usize,
    },
    /// It is there twice (E2AP v03.01 10.3.6).
    Duplicate {
        /// Where the second one begins, in bits.
        bit: usize,
    },
    /// It comes behind one that it must come before (E2AP v03.01 10.3.6).
    OutOfOrder {
        /// Where it begins, in bits.
        bit: usize,
    },
}

impl Error {
    /// The cause to answer with.
    #[must_use]
    pub fn cause(&self) -> Cause {
        Cause::Protocol(match self {
            Error::Header(_) | Error::Container { .. } => CauseProtocol::TransferSyntaxError,
            // E2AP v03.01 10.2, 10.3.1: a value from behind an extension marker could be read, but is not comprehended
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

    /// Which message of which procedure was meant, as far as that could be read.
    #[must_use]
    pub fn message(&self) -> Option<(Kind, ProcedureCode)> {
        match *self {
            Error::Header(_) => None,
            Error::UnknownProcedure { kind, procedure_code, .. }
            | Error::Container { kind, procedure_code, .. }
            | Error::Ie { kind, procedure_code, .. } => Some((kind, procedure_code)),
        }
    }

    /// The diagnostics to answer with.
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

    /// Bits from the start of the PDU to what is wrong, where there is such a place.
    ///
    /// A message of 16384 octets or more comes in fragments: then they are counted from the start of its octets, put
    /// together.
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
                write!(f, "this version has no {kind} of {procedure_code:?}")
            }
            Error::Container { kind, procedure_code, source } => {
                write!(f, "the IEs of the {kind} of {procedure_code:?} cannot be read: {source}")
            }
            Error::Ie { kind, procedure_code, ie, name, fault, .. } => {
                write!(f, "IE {}", ie.0)?;
                if !name.is_empty() {
                    write!(f, " ({name})")?;
                }
                write!(f, " in the {kind} of {procedure_code:?} ")?;
                match fault {
                    IeFault::Malformed(source) => write!(f, "cannot be read: {source}"),
                    IeFault::Missing => f.write_str("is missing"),
                    IeFault::Unknown { bit } => write!(f, "at bit {bit} is unknown and must not be ignored"),
                    IeFault::Duplicate { bit } => write!(f, "stands there twice, again at bit {bit}"),
                    IeFault::OutOfOrder { bit } => write!(f, "at bit {bit} comes behind one that it must come before"),
                }
            }
        }
    }
}

impl std::error::Error for Error {}
