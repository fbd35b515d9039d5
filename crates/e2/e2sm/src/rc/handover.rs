//! Handover control (RC 8.4.4.1); an insert of the node (RC 8.3.4) has the same parameters.

use per::IntoOwned;

use super::RanParameterItem;
use super::known::{self, KnownParameter, ParameterFault, Shape, cell, cell_octets, check, optional, required};
use crate::Error;
use crate::common::Cgi;

pub(super) const TARGET: KnownParameter = required(1, "Target Primary Cell ID", Shape::Structure(&[CHOICE]));
const CHOICE: KnownParameter = required(2, "CHOICE Target Cell", Shape::Structure(CELL));
const CELL: &[KnownParameter] = &[NR_CELL, EUTRA_CELL];
const NR_CELL: KnownParameter = optional(3, "NR Cell", Shape::Structure(&[NR_CGI]));
const NR_CGI: KnownParameter = required(4, "NR CGI", known::NR_CGI);
const EUTRA_CELL: KnownParameter = optional(5, "E-UTRA Cell", Shape::Structure(&[EUTRA_CGI]));
const EUTRA_CGI: KnownParameter = required(6, "E-UTRA CGI", known::EUTRA_CGI);
const SESSIONS: KnownParameter = optional(7, "List of PDU sessions for handover", Shape::List(&SESSION));
const SESSION: KnownParameter = required(
    8,
    "PDU session Item for handover",
    Shape::Structure(&[
        required(9, "PDU session ID", Shape::Number(0, 255)),
        optional(10, "List of QoS flows in the PDU session", Shape::List(&FLOW_OF_SESSION)),
    ]),
);
const FLOW_OF_SESSION: KnownParameter =
    required(11, "QoS flow Item", Shape::Structure(&[required(12, "QoS Flow Identifier", Shape::Number(0, 63))]));
const DRBS: KnownParameter = optional(13, "List of DRBs for handover", Shape::List(&DRB));
const DRB: KnownParameter = required(
    14,
    "DRB item for handover",
    Shape::Structure(&[
        required(15, "DRB ID", Shape::Number(1, 32)),
        optional(16, "List of QoS flows in the DRB", Shape::List(&FLOW_OF_DRB)),
    ]),
);
const FLOW_OF_DRB: KnownParameter =
    required(17, "QoS flow Item", Shape::Structure(&[required(18, "QoS flow Identifier", Shape::Number(0, 63))]));
const SECONDARY_CELLS: KnownParameter =
    optional(19, "List of Secondary cells to be setup", Shape::List(&SECONDARY_CELL));
const SECONDARY_CELL: KnownParameter = required(
    20,
    "Secondary cell Item to be setup",
    Shape::Structure(&[required(21, "Secondary Cell ID", known::NR_CGI)]),
);

pub(super) const PARAMETERS: &[KnownParameter] = &[TARGET, SESSIONS, DRBS, SECONDARY_CELLS];
/// Some senders omit the choice.
const WITHOUT_CHOICE: &[KnownParameter] =
    &[required(1, TARGET.name, Shape::Structure(CELL)), SESSIONS, DRBS, SECONDARY_CELLS];

/// Handover control: control style 3, action 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// The target cell.
    pub target: Cgi,
    /// The other parameters: PDU sessions (7), DRBs (13) and secondary cells (19), each well formed.
    pub other: Vec<RanParameterItem<'static>>,
}

impl Handover {
    /// Returns a handover to that cell with all sessions and bearers of the UE.
    #[must_use]
    pub const fn to(target: Cgi) -> Self {
        Handover { target, other: Vec::new() }
    }

    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let (radio, identity) = match &self.target {
            Cgi::NrCgi(_) => (NR_CELL, NR_CGI),
            Cgi::EutraCgi(_) => (EUTRA_CELL, EUTRA_CGI),
        };
        let radio = radio.structure_of(vec![identity.element_of(cell_octets(&self.target))]);
        let mut items = vec![TARGET.structure_of(vec![CHOICE.structure_of(vec![radio])])];
        items.extend_from_slice(&self.other);
        items
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing or has the wrong type.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        let mut target = TARGET.structure(items);
        if target.iter().any(|item| CELL.iter().any(|cell| cell.id == item.ran_parameter_id)) {
            check(WITHOUT_CHOICE, items)?;
        } else {
            check(PARAMETERS, items)?;
            target = CHOICE.structure(target);
        }
        let target = match (NR_CELL.structure(target), EUTRA_CELL.structure(target)) {
            ([], []) => return Err(NR_CELL.error(ParameterFault::Missing)),
            ([], eutra) => cell(&EUTRA_CGI, eutra, false)?,
            (nr, []) => cell(&NR_CGI, nr, true)?,
            // both alternatives of the choice are present
            (_, _) => return Err(EUTRA_CELL.error(ParameterFault::Unknown)),
        };
        let other = items.iter().filter(|item| item.ran_parameter_id != TARGET.id);
        Ok(Handover { target, other: other.map(|item| item.clone().into_owned()).collect() })
    }
}
