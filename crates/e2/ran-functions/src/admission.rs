//! Admission of the actions of a subscription.

use ferric::agent::{Admission, ControllerId, RequestKey};
use ferric::e2::{Action, SubscriptionRequest};
use ferric::e2ap::{Cause, RicActionType};
use tracing::debug;

use crate::cause::{ACTION_NOT_SUPPORTED, RESOURCE_LIMIT, SEMANTIC_ERROR};

/// Sets up the actions of a subscription that are supported, while `actions` has fewer than `max_actions` entries. The
/// others are refused, each with its own cause; the admitted ones remain (E2AP v03.01 8.2.1.2).
///
/// # Errors
/// If no action is admitted: the cause of the first action (E2AP v03.01 8.2.1.3).
pub(crate) fn admit<A>(
    actions: &mut Vec<A>,
    max_actions: usize,
    controller: ControllerId,
    request: &SubscriptionRequest,
    mut set_up: impl FnMut(RequestKey, &Action) -> Result<A, Cause>,
) -> Result<Admission, Cause> {
    let key = RequestKey { controller, id: request.request_id };
    let mut admission = Admission { admitted: Vec::new(), not_admitted: Vec::new() };
    for requested in &request.actions {
        let action = if actions.len() < max_actions { set_up(key, requested) } else { Err(RESOURCE_LIMIT) };
        match action {
            Ok(action) => {
                actions.push(action);
                admission.admitted.push(requested.id);
            }
            Err(cause) => {
                debug!(controller = controller.0, action = requested.id.0, %cause, "action not admitted");
                admission.not_admitted.push((requested.id, cause));
            }
        }
    }
    if admission.admitted.is_empty() {
        return Err(admission.not_admitted.first().map_or(SEMANTIC_ERROR, |(_, cause)| *cause));
    }
    Ok(admission)
}

/// Refuses every action but a report without an action definition, for service models that have no others.
pub(crate) fn require_plain_report(action: &Action) -> Result<(), Cause> {
    if action.kind != RicActionType::Report {
        return Err(ACTION_NOT_SUPPORTED);
    }
    match action.definition.as_deref() {
        None | Some([]) => Ok(()),
        Some(_) => Err(SEMANTIC_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::RicActionId;

    use super::*;
    use crate::testing::{FIRST, report, subscription};

    /// Supports actions with an even id.
    fn even(_: RequestKey, action: &Action) -> Result<u8, Cause> {
        if action.id.0.is_multiple_of(2) { Ok(action.id.0) } else { Err(ACTION_NOT_SUPPORTED) }
    }

    #[test]
    fn supported_actions_are_admitted_up_to_the_limit() {
        let mut actions = vec![100];
        let request = subscription(FIRST, Vec::new(), [1, 2, 4, 6, 8].map(report).to_vec());
        let admission = admit(&mut actions, 3, FIRST, &request, even).unwrap();
        assert_eq!(admission.admitted, [RicActionId(2), RicActionId(4)]);
        let refused = [
            (RicActionId(1), ACTION_NOT_SUPPORTED),
            (RicActionId(6), RESOURCE_LIMIT),
            (RicActionId(8), RESOURCE_LIMIT),
        ];
        assert_eq!(admission.not_admitted, refused);
        assert_eq!(actions, [100, 2, 4]);
    }

    #[test]
    fn subscription_without_admitted_action_fails_with_the_first_cause() {
        let mut actions = Vec::new();
        let of = |ids: &[u8]| subscription(FIRST, Vec::new(), ids.iter().map(|id| report(*id)).collect());
        assert_eq!(admit(&mut actions, 1, FIRST, &of(&[1, 3]), even), Err(ACTION_NOT_SUPPORTED));
        assert_eq!(admit(&mut actions, 0, FIRST, &of(&[2]), even), Err(RESOURCE_LIMIT));
        assert_eq!(admit(&mut actions, 1, FIRST, &of(&[]), even), Err(SEMANTIC_ERROR));
        assert!(actions.is_empty());
    }
}
