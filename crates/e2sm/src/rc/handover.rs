//! Handover (RC 8.4.4.1; asked for by the node, RC 8.3.4.1, it has the same parameters).

use per::IntoOwned;

use super::RanParameterItem;
use super::fields::{Name, ParameterFault, cell, cell_octets};
use crate::Error;
use crate::common::Cgi;

const TARGET: Name = Name(1, "Target Primary Cell ID");
const CHOICE: Name = Name(2, "CHOICE Target Cell");
const NR_CELL: Name = Name(3, "NR Cell");
const NR_CGI: Name = Name(4, "NR CGI");
const EUTRA_CELL: Name = Name(5, "E-UTRA Cell");
const EUTRA_CGI: Name = Name(6, "E-UTRA CGI");

/// Handover control: control style 3, action 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// Where the UE is to go.
    pub target: Cgi,
    /// What else was said: PDU sessions (7), bearers (13), secondary cells (19), or what nobody knows.
    pub other: Vec<RanParameterItem<'static>>,
}

impl Handover {
    /// A handover to that cell, with all that the UE has.
    #[must_use]
    pub const fn to(target: Cgi) -> Self {
        Handover { target, other: Vec::new() }
    }

    /// The RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let (radio, identity) = match &self.target {
            Cgi::NrCgi(_) => (NR_CELL, NR_CGI),
            Cgi::EutraCgi(_) => (EUTRA_CELL, EUTRA_CGI),
        };
        let radio = radio.structure_of(vec![identity.element(cell_octets(&self.target))]);
        let mut items = vec![TARGET.structure_of(vec![CHOICE.structure_of(vec![radio])])];
        items.extend_from_slice(&self.other);
        items
    }

    /// Reads the RAN parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`]: what is missing, or not what it should be.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        let target = TARGET.structure(TARGET.required(items)?)?;
        // some senders leave the choice out
        let target = CHOICE.among(target).map_or(Ok(target), |choice| CHOICE.structure(choice))?;
        let target = if let Some(nr) = NR_CELL.among(target) {
            cell(NR_CGI, NR_CGI.required(NR_CELL.structure(nr)?)?, true)?
        } else if let Some(eutra) = EUTRA_CELL.among(target) {
            cell(EUTRA_CGI, EUTRA_CGI.required(EUTRA_CELL.structure(eutra)?)?, false)?
        } else {
            return Err(NR_CELL.error(ParameterFault::Missing));
        };
        let other = items.iter().filter(|item| item.ran_parameter_id != TARGET.id());
        Ok(Handover { target, other: other.map(|item| item.clone().into_owned()).collect() })
    }
}
