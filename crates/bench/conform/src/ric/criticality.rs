//! Unknown IEs by their criticality (10.3.4.2), in requests that only a RIC sends.

use e2ap::{CauseProtocol, Criticality, Pdu, RicSubscriptionDeleteRequest};

use super::{RicSide, UNKNOWN_FUNCTION};
use crate::both::Side;
use crate::both::criticality::altered;
use crate::check::fail;
use crate::dialogue::encode;
use crate::{Check, expect};

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![Check::new(
        "unknown-ie-reject",
        "10.3.4.2",
        "an unknown IE with criticality reject in a RIC Subscription Delete Request leads to its failure",
        |side: &mut RicSide<'_>| {
            side.check(|side, dialogue| {
                let request_id = side.request_id();
                let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: UNKNOWN_FUNCTION };
                let octets = altered(&encode(&request.into(), side.version)?, Criticality::Reject)?;
                dialogue.send_octets(&octets);
                dialogue.receive("RicSubscriptionDeleteFailure", |pdu| match pdu {
                    Pdu::RicSubscriptionDeleteFailure(failure) if failure.request_id == request_id => {
                        let wanted = [CauseProtocol::AbstractSyntaxErrorReject];
                        Some(expect::protocol_cause("RicSubscriptionDeleteFailure", &wanted, failure.cause))
                    }
                    Pdu::RicSubscriptionDeleteResponse(_) => Some(fail("the node deleted something")),
                    _ => None,
                })
            })
        },
    )]
}
