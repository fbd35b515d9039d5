//! The global procedures (8.3) but E2 Setup.

use e2ap::{
    E2NodeComponentConfigRemovalItem, E2NodeComponentConfigUpdateItem, E2NodeConfigurationUpdate, Pdu,
    RanFunctionIdItem, RanFunctionRevision, RicServiceUpdate, UpdateOutcome, Version,
};

use super::{NodeDialogue, NodeSide, component_v1, empty_update};
use crate::both::Side;
use crate::both::global::{error_indication_check, remove, reset_check};
use crate::check::fail;
use crate::{Action, Check, Step, expect, messages};

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    vec![
        reset_check("a Reset Request of the node is answered"),
        Check::new(
            "reset-by-ric",
            "8.3.2.2",
            "the RIC accepts the response to its Reset Request",
            |side: &mut NodeSide<'_>| {
                side.check(|side, dialogue| {
                    side.stimulate(Action::Reset);
                    dialogue.answer_if_offered("ResetRequest", |pdu| matches!(pdu, Pdu::ResetRequest(_)))
                })
            },
        ),
        error_indication_check(),
        Check::new(
            "service-update-add",
            "8.3.4.2",
            "an added RAN function is accepted or rejected by name",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let version = side.version;
                update(side, &mut dialogue, |update| {
                    let function = messages::kpm_function(messages::ADDED_FUNCTION, 1, version);
                    update.ran_functions_added = Some(vec![function].into());
                })?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "service-update-modify",
            "8.3.4.2",
            "a modified RAN function is accepted or rejected by name",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let version = side.version;
                update(side, &mut dialogue, |update| {
                    let function = messages::kpm_function(messages::FUNCTION, 2, version);
                    update.ran_functions_modified = Some(vec![function].into());
                })?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "service-update-delete",
            "8.3.4.2",
            "the deletion of a RAN function is acknowledged, and it can be added again",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let version = side.version;
                let gone = RanFunctionIdItem { id: messages::FUNCTION, revision: RanFunctionRevision(1) };
                let transaction_id = side.transaction();
                dialogue.send(RicServiceUpdate {
                    transaction_id,
                    ran_functions_added: None,
                    ran_functions_modified: None,
                    ran_functions_deleted: Some(vec![gone].into()),
                })?;
                dialogue.receive("RicServiceUpdateAcknowledge", |pdu| match pdu {
                    Pdu::RicServiceUpdateAcknowledge(ack) => Some(expect::same_transaction(
                        "RicServiceUpdateAcknowledge",
                        transaction_id,
                        ack.transaction_id,
                    )),
                    Pdu::RicServiceUpdateFailure(_) => Some(fail("the RIC refused the deletion")),
                    _ => None,
                })?;
                update(side, &mut dialogue, |update| {
                    let function = messages::kpm_function(messages::FUNCTION, 1, version);
                    update.ran_functions_added = Some(vec![function].into());
                })?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "service-update-empty",
            "8.3.4.2",
            "a service update without content is acknowledged without content",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let transaction_id = side.transaction();
                dialogue.send(empty_update(transaction_id))?;
                dialogue.receive("RicServiceUpdateAcknowledge", |pdu| match pdu {
                    Pdu::RicServiceUpdateAcknowledge(ack) => {
                        if ack.ran_functions_accepted.is_some() || ack.ran_functions_rejected.is_some() {
                            return Some(fail("the RicServiceUpdateAcknowledge has lists of RAN functions"));
                        }
                        let name = "RicServiceUpdateAcknowledge";
                        Some(expect::same_transaction(name, transaction_id, ack.transaction_id))
                    }
                    Pdu::RicServiceUpdateFailure(_) => Some(fail("the RIC refused the update")),
                    _ => None,
                })?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "service-query",
            "8.3.4",
            "a RIC Service Query names accepted RAN functions only, and its update is acknowledged",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                side.stimulate(Action::ServiceQuery);
                let query = dialogue.receive_if_offered("RicServiceQuery", |pdu| match pdu {
                    Pdu::RicServiceQuery(query) => {
                        let named = query.ran_functions_accepted.iter().flat_map(|list| list.iter());
                        let unknown = named.into_iter().find(|function| function.id != messages::FUNCTION);
                        Some(unknown.map_or_else(
                            || Ok(pdu.clone()),
                            |function| {
                                fail(format!("it names the RAN function {}, which is not offered", function.id.0))
                            },
                        ))
                    }
                    _ => None,
                })?;
                dialogue.respond(&query)?;
                dialogue.receive("RicServiceUpdateAcknowledge", |pdu| match pdu {
                    Pdu::RicServiceUpdateAcknowledge(_) => Some(Ok(())),
                    Pdu::RicServiceUpdateFailure(_) => Some(fail("the RIC refused the update that it asked for")),
                    _ => None,
                })?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "configuration-update-empty",
            "8.3.5.2",
            "an E2 Node Configuration Update without content is acknowledged",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                configure(side, &mut dialogue, |_| ())?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "configuration-update",
            "8.3.5.2",
            "added, changed and removed components are acknowledged one by one",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                if side.version < Version::V2_03 {
                    let ack = configure(side, &mut dialogue, |update| {
                        update.component_config_update_v1 = Some(vec![component_v1()].into());
                    })?;
                    let acks = ack.component_config_update_ack_v1.iter();
                    let types: Vec<_> = acks.flat_map(|list| list.iter().map(|item| item.component_type)).collect();
                    expect::each_once("component", &[component_v1().component_type], &types)?;
                    dialogue.close();
                    return Ok(());
                }
                let added = messages::component("second-amf");
                let id = [added.id.clone()];
                let ack = configure(side, &mut dialogue, |update| {
                    update.component_config_addition = Some(vec![added.clone()].into());
                })?;
                let list = ack.component_config_addition_ack.iter().flat_map(|list| list.iter());
                expect::each_once("added component", &id, &list.map(|item| item.id.clone()).collect::<Vec<_>>())?;
                let ack = configure(side, &mut dialogue, |update| {
                    let changed = E2NodeComponentConfigUpdateItem {
                        interface_type: added.interface_type,
                        id: added.id.clone(),
                        configuration: messages::component_configuration(),
                    };
                    update.component_config_update = Some(vec![changed].into());
                })?;
                let list = ack.component_config_update_ack.iter().flat_map(|list| list.iter());
                expect::each_once("changed component", &id, &list.map(|item| item.id.clone()).collect::<Vec<_>>())?;
                let ack = configure(side, &mut dialogue, |update| {
                    let gone =
                        E2NodeComponentConfigRemovalItem { interface_type: added.interface_type, id: added.id.clone() };
                    update.component_config_removal = Some(vec![gone].into());
                })?;
                let list = ack.component_config_removal_ack.iter().flat_map(|list| list.iter());
                expect::each_once("removed component", &id, &list.map(|item| item.id.clone()).collect::<Vec<_>>())?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V1_01),
        Check::new(
            "configuration-update-undeclared",
            "8.3.5.3",
            "the change of a component that was not declared fails",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let unknown = messages::component("undeclared-amf");
                let transaction_id = side.transaction();
                let mut update = empty_configuration(transaction_id);
                update.component_config_update = Some(
                    vec![E2NodeComponentConfigUpdateItem {
                        interface_type: unknown.interface_type,
                        id: unknown.id.clone(),
                        configuration: unknown.configuration.clone(),
                    }]
                    .into(),
                );
                dialogue.send(update)?;
                dialogue.receive("answer to the E2NodeConfigurationUpdate", |pdu| match pdu {
                    Pdu::E2NodeConfigurationUpdateFailure(failure) => Some(expect::same_transaction(
                        "E2NodeConfigurationUpdateFailure",
                        transaction_id,
                        failure.transaction_id,
                    )),
                    Pdu::E2NodeConfigurationUpdateAcknowledge(ack) => {
                        let acks = ack.component_config_update_ack.iter().flat_map(|list| list.iter());
                        let mut succeeded = acks.filter(|item| item.ack.outcome == UpdateOutcome::Success);
                        Some(match succeeded.next() {
                            Some(_) => fail("the RIC acknowledged the change as a success"),
                            None => Ok(()),
                        })
                    }
                    _ => None,
                })?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "connection-update",
            "8.3.6.2",
            "the RIC accepts that the associations of its E2 Connection Update are not set up",
            |side: &mut NodeSide<'_>| {
                side.check(|side, dialogue| {
                    side.stimulate(Action::ConnectionUpdate);
                    dialogue.answer_if_offered("E2ConnectionUpdate", |pdu| matches!(pdu, Pdu::E2ConnectionUpdate(_)))
                })
            },
        )
        .since(Version::V1_01),
        Check::new(
            "removal",
            "8.3.7.2",
            "an E2 Removal Request of the node is answered, and the node can set up again",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                remove(side, &mut dialogue)?;
                dialogue.close();
                side.set_up()?.close();
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "removal-by-ric",
            "8.3.7.2",
            "the RIC accepts the response to its E2 Removal Request, and the node can set up again",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                side.stimulate(Action::Remove);
                dialogue.answer_if_offered("E2RemovalRequest", |pdu| matches!(pdu, Pdu::E2RemovalRequest(_)))?;
                let within = dialogue.timeouts.answer;
                dialogue.await_end(within, |octets| match expect::decode(octets, Version::V2_03) {
                    Ok(Pdu::ErrorIndication(indication)) => fail(expect::describe(&indication)),
                    Ok(_) => Ok(()),
                    Err(reason) => fail(reason),
                })?;
                let mut again = match side.set_up() {
                    Ok(again) => again,
                    Err(_) => return fail("the node cannot set up after its removal"),
                };
                side.fence(&mut again)?;
                again.close();
                Ok(())
            },
        )
        .since(Version::V2_03),
    ]
}

/// Sends a service update of one function, and checks that the RIC accepts or rejects that one.
fn update(
    side: &mut NodeSide<'_>,
    dialogue: &mut NodeDialogue,
    change: impl FnOnce(&mut RicServiceUpdate<'static>),
) -> Step {
    let transaction_id = side.transaction();
    let mut update = empty_update(transaction_id);
    change(&mut update);
    let changed = update.ran_functions_added.iter().chain(&update.ran_functions_modified);
    let sent: Vec<_> = changed.flat_map(|list| list.iter().map(|function| function.id)).collect();
    dialogue.send(update)?;
    dialogue.receive("answer to the RicServiceUpdate", |pdu| match pdu {
        Pdu::RicServiceUpdateAcknowledge(ack) => {
            let accepted = ack.ran_functions_accepted.iter().flat_map(|list| list.iter().map(|item| item.id));
            let rejected = ack.ran_functions_rejected.iter().flat_map(|list| list.iter().map(|item| item.id));
            let named: Vec<_> = accepted.chain(rejected).collect();
            let name = "RicServiceUpdateAcknowledge";
            Some(
                expect::same_transaction(name, transaction_id, ack.transaction_id)
                    .and_then(|()| expect::each_once("RAN function", &sent, &named)),
            )
        }
        // 8.3.4.3: the only function of the update may be refused
        Pdu::RicServiceUpdateFailure(failure) => {
            Some(expect::same_transaction("RicServiceUpdateFailure", transaction_id, failure.transaction_id))
        }
        _ => None,
    })
}

fn empty_configuration(transaction_id: Option<e2ap::TransactionId>) -> E2NodeConfigurationUpdate<'static> {
    E2NodeConfigurationUpdate {
        transaction_id,
        global_e2_node_id: None,
        component_config_update_v1: None,
        component_config_addition: None,
        component_config_update: None,
        component_config_removal: None,
        tnl_association_removal: None,
    }
}

/// Sends a configuration update and returns its acknowledgement.
fn configure(
    side: &mut NodeSide<'_>,
    dialogue: &mut NodeDialogue,
    change: impl FnOnce(&mut E2NodeConfigurationUpdate<'static>),
) -> Step<e2ap::E2NodeConfigurationUpdateAcknowledge<'static>> {
    let transaction_id = side.transaction();
    let mut update = empty_configuration(transaction_id);
    change(&mut update);
    dialogue.send(update)?;
    dialogue.receive("E2NodeConfigurationUpdateAcknowledge", |pdu| match pdu {
        Pdu::E2NodeConfigurationUpdateAcknowledge(ack) => {
            let name = "E2NodeConfigurationUpdateAcknowledge";
            Some(expect::same_transaction(name, transaction_id, ack.transaction_id).map(|()| ack.clone()))
        }
        Pdu::E2NodeConfigurationUpdateFailure(failure) => {
            Some(fail(format!("the RIC refused the update: {:?}", failure.cause)))
        }
        _ => None,
    })
}
