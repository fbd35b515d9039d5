//! UEs that requests name.

use ferric::e2::topology::{RanDatabase, ResolveError, Ue, UeReference};
use rest::{Parameter, Problem};

/// The parameter `{ue}` of a path: a [`UeReference`].
pub const UE: Parameter = Parameter::text(
    "ue",
    "A UE by any of its names: `amf:N` or `N`, `mme:N`, `f1ap:N`, `e1ap:N`, `w1ap:N`, `x2ap:N`, `rnti:0xN@CELL`, `rnti:0xN@NODE` or \
     `ip:ADDRESS`.",
);

/// Returns the UE that a reference names.
///
/// # Errors
/// 404 if no UE has the name, with `known` ones; 409 if several have it, the `candidates`.
pub fn resolve_ue<'r>(ran: &'r RanDatabase, reference: &UeReference) -> Result<&'r Ue, Problem> {
    ran.resolve(reference).map_err(|error| {
        let text = error.to_string();
        match error {
            ResolveError::Unknown { known, .. } => Problem::not_found(text).with("known", known),
            ResolveError::Ambiguous { candidates, .. } => Problem::conflict(text).with("candidates", candidates),
        }
    })
}
