//! The global procedures (8.3) but E2 Setup.

use e2ap::{E2ConnectionUpdate, Pdu, RanFunctionIdItem, RicServiceQuery, Version};

use super::functional::{no_more_reports, subscribed};
use super::{RicDialogue, RicSide};
use crate::both::global::{remove, reset_check};
use crate::both::{Side, reset};
use crate::check::{fail, inconclusive};
use crate::{Check, Step, expect};

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        reset_check("a Reset Request of the RIC is answered"),
        Check::new(
            "reset-ends-subscriptions",
            "8.3.2.2",
            "after a reset, subscriptions report no more",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                reset(side, &mut dialogue)?;
                no_more_reports(side, &mut dialogue, subscription.id)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "reset-by-node",
            "8.3.2.2",
            "the node accepts the response to its Reset Request",
            |side: &mut RicSide<'_>| {
                side.check(|_, dialogue| {
                    dialogue.answer_if_offered("ResetRequest", |pdu| matches!(pdu, Pdu::ResetRequest(_)))
                })
            },
        ),
        Check::new(
            "service-query",
            "8.3.4",
            "a RIC Service Query without a list is answered by an update that adds all RAN functions",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let mut offered = functions(side);
                    let update = queried(side, dialogue, None)?;
                    let added = update.ran_functions_added.iter().flat_map(|list| list.iter().map(|item| item.id));
                    let mut added: Vec<_> = added.collect();
                    offered.sort_unstable_by_key(|item| item.id);
                    added.sort_unstable();
                    let ids: Vec<_> = offered.iter().map(|item| item.id).collect();
                    expect::each_once("RAN function", &ids, &added)?;
                    dialogue.respond(&Pdu::RicServiceUpdate(update))
                })
            },
        ),
        Check::new(
            "service-query-aligned",
            "8.3.4",
            "a RIC Service Query with all RAN functions is answered by an update without content",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let known = functions(side);
                    if known.is_empty() {
                        return inconclusive("the node offers no RAN function");
                    }
                    let update = queried(side, dialogue, Some(known))?;
                    let lists = [update.ran_functions_added.is_some(), update.ran_functions_modified.is_some()];
                    if lists.contains(&true) || update.ran_functions_deleted.is_some() {
                        return fail("the RicServiceUpdate has lists, though the query names all RAN functions");
                    }
                    dialogue.respond(&Pdu::RicServiceUpdate(update))
                })
            },
        ),
        Check::new(
            "configuration-update",
            "8.3.5.2",
            "the node accepts the acknowledgement of its E2 Node Configuration Update",
            |side: &mut RicSide<'_>| {
                side.check(|_, dialogue| {
                    dialogue.answer_if_offered("E2NodeConfigurationUpdate", |pdu| {
                        matches!(pdu, Pdu::E2NodeConfigurationUpdate(_))
                    })
                })
            },
        )
        .since(Version::V1_01),
        Check::new(
            "connection-update-empty",
            "8.3.6.2",
            "an E2 Connection Update without content is acknowledged",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let transaction_id = side.transaction();
                    dialogue.send(E2ConnectionUpdate { transaction_id, add: None, remove: None, modify: None })?;
                    dialogue.receive("E2ConnectionUpdateAcknowledge", |pdu| match pdu {
                        Pdu::E2ConnectionUpdateAcknowledge(ack) => {
                            let name = "E2ConnectionUpdateAcknowledge";
                            Some(expect::same_transaction(name, transaction_id, ack.transaction_id))
                        }
                        Pdu::E2ConnectionUpdateFailure(failure) => {
                            Some(fail(format!("the node refused it: {:?}", failure.cause)))
                        }
                        _ => None,
                    })
                })
            },
        )
        .since(Version::V1_01),
    ]
}

/// The checks after which the node may stay away.
pub(super) fn last_checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        Check::new("removal", "8.3.7.2", "an E2 Removal Request of the RIC is answered", |side: &mut RicSide<'_>| {
            let mut dialogue = side.begin()?;
            remove(side, &mut dialogue)?;
            let within = dialogue.timeouts.answer;
            let version = side.version;
            dialogue.await_end(within, |octets| match expect::decode(octets, version) {
                Ok(Pdu::RicIndication(_)) => fail("the node reports after its removal"),
                Ok(Pdu::ErrorIndication(indication)) => fail(expect::describe(&indication)),
                Ok(_) => Ok(()),
                Err(reason) => fail(reason),
            })?;
            dialogue.close();
            Ok(())
        })
        .since(Version::V2_03),
    ]
}

/// The RAN functions of the node's setup.
fn functions(side: &RicSide<'_>) -> Vec<RanFunctionIdItem> {
    let offered = side.node.iter().flat_map(|node| &node.ran_functions_added).flat_map(|list| list.iter());
    offered.map(|item| RanFunctionIdItem { id: item.id, revision: item.revision }).collect()
}

/// Sends a service query and returns the update that it leads to.
fn queried(
    side: &mut RicSide<'_>,
    dialogue: &mut RicDialogue,
    known: Option<Vec<RanFunctionIdItem>>,
) -> Step<e2ap::RicServiceUpdate<'static>> {
    let transaction_id = side.transaction();
    dialogue.send(RicServiceQuery { transaction_id, ran_functions_accepted: known.map(Into::into) })?;
    dialogue.receive("RicServiceUpdate", |pdu| match pdu {
        Pdu::RicServiceUpdate(update) => Some(Ok(update.clone())),
        _ => None,
    })
}
