//! Unknown IEs by their criticality (10.3.4.2), in requests that only an E2 node sends.

use e2ap::{CauseProtocol, Criticality, Pdu};

use super::{NodeSide, empty_update};
use crate::both::Side;
use crate::both::criticality::altered;
use crate::check::fail;
use crate::dialogue::encode;
use crate::{Check, expect};

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    vec![Check::new(
        "unknown-ie-reject",
        "10.3.4.2",
        "an unknown IE with criticality reject in a RIC Service Update leads to its failure",
        |side: &mut NodeSide<'_>| {
            side.check(|side, dialogue| {
                let transaction_id = side.transaction();
                let update = empty_update(transaction_id);
                let octets = altered(&encode(&update.into(), side.version)?, Criticality::Reject)?;
                dialogue.send_octets(&octets);
                dialogue.receive("RicServiceUpdateFailure", |pdu| match pdu {
                    Pdu::RicServiceUpdateFailure(failure) => Some(
                        expect::same_transaction("RicServiceUpdateFailure", transaction_id, failure.transaction_id)
                            .and_then(|()| match failure.cause {
                                // v1 has no cause
                                None => Ok(()),
                                cause => {
                                    let wanted = [CauseProtocol::AbstractSyntaxErrorReject];
                                    expect::protocol_cause("RicServiceUpdateFailure", &wanted, cause)
                                }
                            }),
                    ),
                    Pdu::RicServiceUpdateAcknowledge(_) => Some(fail("the RIC acknowledged the update")),
                    _ => None,
                })
            })
        },
    )]
}
