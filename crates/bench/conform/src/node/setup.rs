//! E2 Setup (8.3.1).

use e2ap::{CauseProtocol, Criticality, Pdu, RicServiceUpdate, Version};

use super::{NodeSide, component_v1};
use crate::both::Side;
use crate::both::criticality::altered;
use crate::check::fail;
use crate::dialogue::encode;
use crate::wire::UNKNOWN_IE;
use crate::{Check, Step, expect, messages};

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    vec![
        Check::new(
            "setup",
            "8.3.1.2",
            "E2 Setup is answered for each RAN function and component",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.connect()?;
                let request = side.setup_request();
                let transaction_id = request.transaction_id;
                let response = NodeSide::exchange_setup(&mut dialogue, request)?;
                expect::same_transaction("E2SetupResponse", transaction_id, response.transaction_id)?;
                let accepted = response.ran_functions_accepted.iter().flat_map(|list| list.iter().map(|item| item.id));
                let rejected = response.ran_functions_rejected.iter().flat_map(|list| list.iter().map(|item| item.id));
                let answered: Vec<_> = accepted.chain(rejected).collect();
                expect::each_once("RAN function", &[messages::FUNCTION], &answered)?;
                if side.version >= Version::V2_03 {
                    let acks = response.component_config_addition_ack.iter();
                    let ids: Vec<_> = acks.flat_map(|list| list.iter().map(|item| item.id.clone())).collect();
                    expect::each_once("component", &[messages::component("amf").id], &ids)?;
                }
                if side.version == Version::V1_01 {
                    let acks = response.component_config_update_ack_v1.iter();
                    let types: Vec<_> = acks.flat_map(|list| list.iter().map(|item| item.component_type)).collect();
                    expect::each_once("component", &[component_v1().component_type], &types)?;
                }
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "setup-transaction-ids",
            "9.2.33",
            "the response repeats the transaction id, the smallest and the largest included",
            |side: &mut NodeSide<'_>| {
                for number in [0, 255] {
                    let mut dialogue = side.connect()?;
                    let mut request = side.setup_request();
                    request.transaction_id = messages::transaction(side.version, number);
                    let sent = request.transaction_id;
                    let response = NodeSide::exchange_setup(&mut dialogue, request)?;
                    expect::same_transaction("E2SetupResponse", sent, response.transaction_id)?;
                    dialogue.close();
                }
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "setup-without-functions",
            "9.1.2.2",
            "a node without RAN functions, which v1 allows, is set up",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.connect()?;
                let mut request = side.setup_request();
                request.ran_functions_added = None;
                let response = NodeSide::exchange_setup(&mut dialogue, request)?;
                let accepted = response.ran_functions_accepted.iter().flat_map(|list| list.iter().map(|item| item.id));
                let named: Vec<_> = accepted.collect();
                expect::each_once("RAN function", &[], &named)?;
                dialogue.close();
                Ok(())
            },
        )
        .until(Version::V1_01),
        Check::new(
            "setup-repeated",
            "8.3.1.1",
            "a second setup on the association replaces the data of the first",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let mut request = side.setup_request();
                let function = messages::kpm_function(messages::ADDED_FUNCTION, 1, side.version);
                request.ran_functions_added = Some(vec![function].into());
                let response = NodeSide::exchange_setup(&mut dialogue, request)?;
                let accepted = response.ran_functions_accepted.iter().flat_map(|list| list.iter().map(|item| item.id));
                let rejected = response.ran_functions_rejected.iter().flat_map(|list| list.iter().map(|item| item.id));
                let answered: Vec<_> = accepted.chain(rejected).collect();
                expect::each_once("RAN function", &[messages::ADDED_FUNCTION], &answered)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "setup-again",
            "8.3.1.1",
            "a node that has lost its association sets up on another one",
            |side: &mut NodeSide<'_>| {
                let dialogue = side.set_up()?;
                dialogue.close();
                let mut dialogue = side.connect()?;
                let request = side.setup_request();
                let sent = request.transaction_id;
                let response = NodeSide::exchange_setup(&mut dialogue, request)?;
                expect::same_transaction("E2SetupResponse", sent, response.transaction_id)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "before-setup",
            "8.3.1.4, 10.4",
            "another message than a setup as the first one is a logical error, and is not obeyed",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.connect()?;
                let transaction_id = side.transaction();
                dialogue.send(RicServiceUpdate {
                    transaction_id,
                    ran_functions_added: Some(vec![messages::kpm_function(messages::FUNCTION, 1, side.version)].into()),
                    ran_functions_modified: None,
                    ran_functions_deleted: None,
                })?;
                // 10.4: an Error Indication, or the end of the association, or nothing
                let obeyed = dialogue.receive_within("reaction", dialogue.timeouts.answer, |pdu| match pdu {
                    Pdu::RicServiceUpdateAcknowledge(_) => Some(fail("the RIC acknowledged it")),
                    Pdu::RicServiceUpdateFailure(_) | Pdu::ErrorIndication(_) => Some(Ok(())),
                    _ => None,
                });
                match obeyed {
                    Err(crate::Stop::Fail(reason)) if !reason.starts_with("the association ended") => fail(reason),
                    _ => Ok(()),
                }
            },
        ),
        Check::new(
            "setup-unknown-ie-ignore",
            "10.3.4.2",
            "an unknown IE with criticality ignore in a setup changes nothing",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.connect()?;
                let (octets, sent) = altered_setup(side, Criticality::Ignore)?;
                dialogue.send_octets(&octets);
                dialogue.receive("E2SetupResponse", |pdu| match pdu {
                    Pdu::E2SetupResponse(response) => {
                        Some(expect::same_transaction("E2SetupResponse", sent, response.transaction_id))
                    }
                    Pdu::E2SetupFailure(_) => Some(fail("the RIC refused the setup")),
                    _ => None,
                })?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "setup-unknown-ie-reject",
            "10.3.4.2",
            "an unknown IE with criticality reject in a setup leads to E2 Setup Failure",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.connect()?;
                let (octets, sent) = altered_setup(side, Criticality::Reject)?;
                dialogue.send_octets(&octets);
                dialogue.receive("E2SetupFailure", |pdu| match pdu {
                    Pdu::E2SetupFailure(failure) => Some(
                        expect::same_transaction("E2SetupFailure", sent, failure.transaction_id)
                            .and_then(|()| {
                                let wanted = [CauseProtocol::AbstractSyntaxErrorReject];
                                expect::protocol_cause("E2SetupFailure", &wanted, failure.cause)
                            })
                            .and_then(|()| match &failure.criticality_diagnostics {
                                Some(named) if named.ies.is_some() && !expect::names_ie(Some(named), UNKNOWN_IE) => {
                                    fail("the criticality diagnostics name another IE")
                                }
                                _ => Ok(()),
                            }),
                    ),
                    Pdu::E2SetupResponse(_) => Some(fail("the RIC accepted the setup")),
                    _ => None,
                })?;
                // the refusal is not the end: a valid setup follows
                let request = side.setup_request();
                NodeSide::exchange_setup(&mut dialogue, request)?;
                dialogue.close();
                Ok(())
            },
        ),
    ]
}

/// A setup request with an unknown IE, and its transaction.
fn altered_setup(side: &mut NodeSide<'_>, criticality: Criticality) -> Step<(Vec<u8>, Option<e2ap::TransactionId>)> {
    let request = side.setup_request();
    let sent = request.transaction_id;
    let octets = encode(&request.into(), side.version)?;
    Ok((altered(&octets, criticality)?, sent))
}
