//! UEs that requests name.

use ferric::e2::topology::{RanDatabase, ResolveError, Ue, UeReference};
use rest::Problem;

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
