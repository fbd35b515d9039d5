//! E2 Setup (8.3.1).

use std::time::{Duration, Instant};

use e2ap::{Cause, CauseMisc, Criticality, E2SetupFailure, Pdu, TimeToWait, Version};

use super::{RicSide, response};
use crate::both::Side;
use crate::both::criticality::altered;
use crate::check::{fail, inconclusive};
use crate::dialogue::encode;
use crate::{Check, expect};

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        Check::new(
            "setup",
            "8.3.1.2",
            "the first message of an association is a valid E2 Setup Request",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, request) = side.accept()?;
                let functions: Vec<_> =
                    request.ran_functions_added.iter().flat_map(|list| list.iter().map(|item| item.id)).collect();
                expect::each_once("RAN function", &functions, &functions)?;
                dialogue.send(response(&request))?;
                side.fence(&mut dialogue)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "setup-unanswered",
            "8.3.1.1",
            "without a response to its setup the node sends nothing but another setup",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, _) = side.accept()?;
                let within = dialogue.timeouts.action;
                // not answered by the responder: everything is judged
                dialogue.receive_within("nothing", within, |pdu| match pdu {
                    Pdu::E2SetupRequest(_) => Some(Ok(())),
                    other => Some(fail(format!("the node sent {} before its setup", other.name()))),
                })?;
                Ok(())
            },
        ),
        Check::new(
            "setup-refused",
            "8.3.1.3",
            "after E2 Setup Failure the node waits as long as it says before it sets up again",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, request) = side.accept()?;
                dialogue.send(E2SetupFailure {
                    transaction_id: request.transaction_id,
                    cause: Some(Cause::Misc(CauseMisc::ControlProcessingOverload)),
                    time_to_wait: Some(TimeToWait::V2s),
                    criticality_diagnostics: None,
                    tnl_information: None,
                })?;
                let refused_at = Instant::now();
                let wait = Duration::from_secs(TimeToWait::V2s.seconds().into());
                let within = wait + dialogue.timeouts.connect;
                let again = dialogue.receive_within("E2SetupRequest", within, |pdu| match pdu {
                    Pdu::E2SetupRequest(request) => Some(Ok(Some(request.clone()))),
                    Pdu::ErrorIndication(indication) => Some(fail(expect::describe(indication))),
                    other => Some(fail(format!("the node sent {} after its refused setup", other.name()))),
                });
                let again = match again {
                    Ok(Some(request)) => request,
                    Ok(None) => return inconclusive(format!("the node did not set up again within {within:?}")),
                    // the node may begin a new association
                    Err(crate::Stop::Fail(reason)) if reason.starts_with("the association ended") => {
                        let (next, request) = side.accept()?;
                        dialogue = next;
                        Some(request)
                    }
                    Err(other) => return Err(other),
                };
                let waited = refused_at.elapsed();
                if waited < wait {
                    return fail(format!("the node set up again after {waited:?}, and had to wait {wait:?}"));
                }
                if let Some(request) = again {
                    dialogue.send(response(&request))?;
                }
                side.fence(&mut dialogue)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "setup-response-unknown-ie",
            "10.3.4.2",
            "an unknown IE with criticality ignore in the response to its setup changes nothing",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, request) = side.accept()?;
                let octets = encode(&response(&request).into(), side.version)?;
                dialogue.send_octets(&altered(&octets, Criticality::Ignore)?);
                side.fence(&mut dialogue)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "setup-response-in-parts",
            "8.3.1.2",
            "a response that accepts no RAN function is accepted",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, request) = side.accept()?;
                let mut partly = response(&request);
                partly.ran_functions_accepted = None;
                let cause = Cause::RicService(e2ap::CauseRicService::RanFunctionNotSupported);
                let rejected = request.ran_functions_added.iter().flat_map(|list| list.iter());
                let rejected: Vec<_> =
                    rejected.map(|item| e2ap::RanFunctionIdCauseItem { id: item.id, cause }).collect();
                if rejected.is_empty() {
                    return inconclusive("the node offers no RAN functions");
                }
                partly.ran_functions_rejected = Some(rejected.into());
                dialogue.send(partly)?;
                side.fence(&mut dialogue)?;
                // the next check begins with an accepted node
                drop(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "setup-again",
            "8.3.1.1",
            "a node that has lost its association sets up on another one, with the same id",
            |side: &mut RicSide<'_>| {
                let before = side.begin()?;
                let id = side.node.as_ref().map(|node| node.global_e2_node_id);
                before.close();
                let (mut dialogue, request) = match side.accept() {
                    Ok(accepted) => accepted,
                    Err(other) => return Err(other),
                };
                if Some(request.global_e2_node_id) != id {
                    return fail(format!("the node came back as {}", request.global_e2_node_id));
                }
                dialogue.send(response(&request))?;
                side.fence(&mut dialogue)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "setup-components",
            "9.1.2.2",
            "the components of the setup request are distinct",
            |side: &mut RicSide<'_>| {
                let (mut dialogue, request) = side.accept()?;
                let components = request.component_config_addition.iter().flat_map(|list| list.iter());
                let ids: Vec<_> = components.map(|item| item.id.clone()).collect();
                expect::each_once("component", &ids, &ids)?;
                dialogue.send(response(&request))?;
                side.fence(&mut dialogue)?;
                side.end(dialogue);
                Ok(())
            },
        )
        .since(Version::V2_03),
    ]
}
