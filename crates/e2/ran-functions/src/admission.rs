//! Which actions of a subscription are set up.

use ferric::agent::Admission;
use ferric::e2::{Action, SubscriptionRequest};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionType};
use tracing::debug;

/// Sets up those actions of a subscription that can be, so that at most `most` stand in `actions`. The others are refused,
/// each with its own cause, and the admitted ones stand (E2AP v03.01 8.2.1.2).
///
/// # Errors
/// Where none can be set up: one cause for all, that of the first (E2AP v03.01 8.2.1.3).
pub(crate) fn admit<A>(
    actions: &mut Vec<A>,
    most: usize,
    request: &SubscriptionRequest,
    mut set_up: impl FnMut(&Action) -> Result<A, Cause>,
) -> Result<Admission, Cause> {
    let mut admission = Admission { admitted: Vec::new(), not_admitted: Vec::new() };
    for wanted in &request.actions {
        let action = if actions.len() < most {
            set_up(wanted)
        } else {
            Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit))
        };
        match action {
            Ok(action) => {
                actions.push(action);
                admission.admitted.push(wanted.id);
            }
            Err(cause) => {
                debug!(action = wanted.id.0, %cause, "action refused");
                admission.not_admitted.push((wanted.id, cause));
            }
        }
    }
    if admission.admitted.is_empty() {
        let none = Cause::Protocol(CauseProtocol::SemanticError);
        return Err(admission.not_admitted.first().map_or(none, |(_, cause)| *cause));
    }
    Ok(admission)
}

/// Refuses all but reports without a definition, where a service model has no others.
pub(crate) fn only_bare_reports(action: &Action) -> Result<(), Cause> {
    if action.kind != RicActionType::Report {
        return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
    }
    match action.definition.as_deref() {
        None | Some([]) => Ok(()),
        Some(_) => Err(Cause::Protocol(CauseProtocol::SemanticError)),
    }
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::RicActionId;

    use super::*;
    use crate::testing::{FIRST, report, subscription};

    const LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);

    fn even(action: &Action) -> Result<u8, Cause> {
        if action.id.0.is_multiple_of(2) { Ok(action.id.0) } else { Err(REFUSED) }
    }

    #[test]
    fn what_can_be_set_up_is_up_to_the_bound() {
        let mut actions = vec![100];
        let request = subscription(FIRST, Vec::new(), [1, 2, 4, 6, 8].map(report).to_vec());
        let admission = admit(&mut actions, 3, &request, even).unwrap();
        assert_eq!(admission.admitted, [RicActionId(2), RicActionId(4)]);
        let refused = [(RicActionId(1), REFUSED), (RicActionId(6), LIMIT), (RicActionId(8), LIMIT)];
        assert_eq!(admission.not_admitted, refused);
        assert_eq!(actions, [100, 2, 4]);
    }

    #[test]
    fn where_none_can_be_the_first_cause_is_told() {
        let mut actions = Vec::new();
        let of = |ids: &[u8]| subscription(FIRST, Vec::new(), ids.iter().map(|id| report(*id)).collect());
        assert_eq!(admit(&mut actions, 1, &of(&[1, 3]), even), Err(REFUSED));
        assert_eq!(admit(&mut actions, 0, &of(&[2]), even), Err(LIMIT));
        let none = Cause::Protocol(CauseProtocol::SemanticError);
        assert_eq!(admit(&mut actions, 1, &of(&[]), even), Err(none));
        assert!(actions.is_empty());
    }
}
