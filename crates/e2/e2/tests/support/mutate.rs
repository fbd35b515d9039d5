//! Structural changes of messages: of a value, a list item, or an IE. The result has correct lengths and mostly decodes, so
//! that it gets past the decoders.

use e2ap::{
    Cause, CauseMisc, CauseProtocol, CauseRicRequest, GlobalE2NodeId, Items, Pdu, RanFunctionId,
    RanFunctionIdCauseItem, RanFunctionIdItem, RanFunctionItem, RanFunctionRevision, RicActionAdmitted, RicActionId,
    RicActionNotAdmitted, RicActionToBeAdded, RicActionToBeModified, RicActionToBeRemoved, RicActionToBeSetup,
    RicActionType, RicIndicationSn, RicIndicationType, RicRequestId, RicSubscriptionWithCause, TransactionId, Version,
};
use per::{Gather, Octets};

use super::notation::gnb;
use super::random::Random;

/// Changes a message of `version`, or of any version in which it decodes. Returns whether it has changed.
pub fn mutate(pdu: &mut Vec<u8>, version: Version, random: &mut Random) -> bool {
    let changed = match random.below(3) {
        0 => change_ies(pdu, random),
        _ => change_value(pdu, version, random),
    };
    match changed {
        Some(changed) if changed != *pdu => {
            *pdu = changed;
            true
        }
        _ => false,
    }
}

/// Changes one value.
fn change_value(pdu: &[u8], version: Version, random: &mut Random) -> Option<Vec<u8>> {
    let gather = Gather::new();
    let mut changed = e2ap::decode(pdu, version, &gather).ok()?.pdu;
    let mut fields = fields(&mut changed);
    let at = random.below(fields.len());
    fields.get_mut(at)?.change(random);
    let mut out = Vec::new();
    // some values cannot be encoded
    changed.encode(version, &mut out).ok()?;
    Some(out)
}

/// Removes, repeats or moves an IE, or changes its criticality, id or octets.
fn change_ies(pdu: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (head, mut ies) = take_apart(pdu)?;
    let (at, other) = (random.below(ies.len()), random.below(ies.len()));
    let another = ies.get(other)?.clone();
    let ie = ies.get_mut(at)?;
    match random.below(7) {
        0 => drop(ies.remove(at)),
        1 => ies.insert(at, another),
        2 => ies.swap(at, other),
        3 => ie.criticality = *random.pick(&[0x00, 0x40, 0x80]),
        4 => ie.id = *random.pick(&[1, 5, 29, 49, 8, 30, 200, u16::MAX]),
        5 => ie.value = another.value,
        _ if ie.value.is_empty() => ie.value.push(0),
        _ => {
            let place = random.below(ie.value.len());
            ie.value[place] = random.next() as u8;
        }
    }
    put_together(head, &ies)
}

#[derive(Clone)]
struct Ie {
    id: u16,
    criticality: u8,
    value: Vec<u8>,
}

/// Splits a PER length, below the size of a fragment, from the octets that follow it.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes {
        [short @ 0..0x80, ref rest @ ..] => Some((usize::from(short), rest)),
        [high @ 0x80..0xC0, low, ref rest @ ..] => Some((usize::from(high & 0x3F) << 8 | usize::from(low), rest)),
        _ => None,
    }
}

fn put_length(length: usize, out: &mut Vec<u8>) -> Option<()> {
    match length {
        0..0x80 => out.push(length as u8),
        0x80..0x4000 => out.extend((length as u16 | 0x8000).to_be_bytes()),
        _ => return None,
    }
    Some(())
}

/// Splits a PDU into kind, procedure and criticality, and its IEs.
fn take_apart(pdu: &[u8]) -> Option<([u8; 3], Vec<Ie>)> {
    let (head, rest) = pdu.split_first_chunk::<3>()?;
    let (len, rest) = length(rest)?;
    let [_, high, low, rest @ ..] = rest.get(..len)? else { return None };
    let (mut rest, mut ies) = (rest, Vec::new());
    for _ in 0..u16::from_be_bytes([*high, *low]) {
        let [high, low, criticality, value @ ..] = rest else { return None };
        let (len, value) = length(value)?;
        let (value, after) = (value.get(..len)?, value.get(len..)?);
        ies.push(Ie { id: u16::from_be_bytes([*high, *low]), criticality: *criticality, value: value.to_vec() });
        rest = after;
    }
    Some((*head, ies))
}

fn put_together(head: [u8; 3], ies: &[Ie]) -> Option<Vec<u8>> {
    let mut inner = vec![0];
    inner.extend((ies.len() as u16).to_be_bytes());
    for Ie { id, criticality, value } in ies {
        inner.extend(id.to_be_bytes());
        inner.push(*criticality);
        put_length(value.len(), &mut inner)?;
        inner.extend(value);
    }
    let mut out = head.to_vec();
    put_length(inner.len(), &mut out)?;
    out.extend(inner);
    Some(out)
}

/// A part of a message that can be changed.
trait Value {
    fn change(&mut self, random: &mut Random);
}

impl Value for RicRequestId {
    fn change(&mut self, random: &mut Random) {
        match random.below(8) {
            0 => self.requestor = *random.pick(&[0, 1020, 1022, u16::MAX]),
            1 => self.instance = u16::MAX,
            // probably the id of another request
            _ => self.instance = random.below(24) as u16,
        }
    }
}

impl Value for RanFunctionId {
    fn change(&mut self, random: &mut Random) {
        self.0 = *random.pick(&[2, 3, 4, 0, 4095]);
    }
}

impl Value for TransactionId {
    fn change(&mut self, random: &mut Random) {
        self.0 = random.below(256) as u32;
    }
}

impl Value for RicActionId {
    fn change(&mut self, random: &mut Random) {
        self.0 = *random.pick(&[0, 1, 2, 7, 255]);
    }
}

impl Value for RicIndicationSn {
    fn change(&mut self, random: &mut Random) {
        self.0 = *random.pick(&[0, 1, u16::MAX]);
    }
}

impl Value for RicIndicationType {
    fn change(&mut self, random: &mut Random) {
        *self = *random.pick(&[RicIndicationType::Report, RicIndicationType::Insert]);
    }
}

impl Value for RicActionType {
    fn change(&mut self, random: &mut Random) {
        *self = *random.pick(&[RicActionType::Report, RicActionType::Insert, RicActionType::Policy]);
    }
}

impl Value for Cause {
    fn change(&mut self, random: &mut Random) {
        *self = *random.pick(&[
            Cause::Misc(CauseMisc::Unspecified),
            Cause::Protocol(CauseProtocol::SemanticError),
            Cause::RicRequest(CauseRicRequest::RequestIdUnknown),
        ]);
    }
}

impl Value for GlobalE2NodeId {
    fn change(&mut self, random: &mut Random) {
        // another one of the message, or a new one
        *self = gnb(random.below(4) as u32);
    }
}

impl Value for Octets<'_> {
    fn change(&mut self, random: &mut Random) {
        let octets = *random.pick(&[0, 1, 127, 128, 20_000]);
        *self = vec![random.next() as u8; octets].into();
    }
}

impl<T: Value> Value for Option<T> {
    fn change(&mut self, random: &mut Random) {
        match self {
            Some(value) if !random.once_in(4) => value.change(random),
            _ => *self = None,
        }
    }
}

impl<T: Value + Clone> Value for Items<'_, T> {
    fn change(&mut self, random: &mut Random) {
        let mut items = self.to_vec();
        if items.is_empty() {
            return;
        }
        let (at, other) = (random.below(items.len()), random.below(items.len()));
        match random.below(6) {
            0 => drop(items.remove(at)),
            1 => items.push(items[at].clone()),
            2 => items.swap(at, other),
            3 => items = vec![items[at].clone(); 1 + random.below(40)],
            _ => items[at].change(random),
        }
        *self = items.into();
    }
}

/// Implements `Value` for items by their fields.
macro_rules! items {
    ($($item:ty { $($field:ident),* $(,)? })*) => {$(
        impl Value for $item {
            fn change(&mut self, random: &mut Random) {
                let fields: &mut [&mut dyn Value] = &mut [$(&mut self.$field),*];
                let at = random.below(fields.len());
                if let Some(field) = fields.get_mut(at) {
                    field.change(random);
                }
            }
        }
    )*};
}

items! {
    RanFunctionItem<'_> { id, revision, definition }
    RanFunctionIdItem { id, revision }
    RanFunctionIdCauseItem { id, cause }
    RicActionToBeSetup<'_> { id, kind, definition }
    RicActionToBeAdded<'_> { id, kind, definition }
    RicActionToBeModified<'_> { id, definition }
    RicActionToBeRemoved { id }
    RicActionAdmitted { id }
    RicActionNotAdmitted { id, cause }
    RicSubscriptionWithCause { request_id, ran_function_id, cause }
    e2ap::RicActionRemoved { id }
    e2ap::RicActionFailedToBeRemoved { id, cause }
    e2ap::RicActionModified { id }
    e2ap::RicActionFailedToBeModified { id, cause }
    e2ap::RicActionAdded { id }
    e2ap::RicActionFailedToBeAdded { id, cause }
    e2ap::RicActionRequiredToBeModified { id }
    e2ap::RicActionRequiredToBeRemoved { id, cause }
    e2ap::RicActionConfirmedForModification { id }
    e2ap::RicActionRefusedToBeModified { id, cause }
    e2ap::RicActionConfirmedForRemoval { id }
    e2ap::RicActionRefusedToBeRemoved { id, cause }
    // only their lists are changed
    e2ap::E2NodeComponentConfigUpdateItemV1<'_> {}
    e2ap::E2NodeComponentConfigAdditionItem<'_> {}
    e2ap::E2NodeComponentConfigUpdateItem<'_> {}
    e2ap::E2NodeComponentConfigRemovalItem<'_> {}
    e2ap::E2NodeTnlAssociationRemovalItem<'_> {}
    e2ap::E2NodeComponentConfigUpdateAckItemV1 {}
    e2ap::E2NodeComponentConfigAdditionAckItem<'_> {}
    e2ap::E2NodeComponentConfigUpdateAckItem<'_> {}
    e2ap::E2NodeComponentConfigRemovalAckItem<'_> {}
    e2ap::E2ConnectionUpdateItem<'_> {}
    e2ap::E2ConnectionUpdateRemoveItem<'_> {}
    e2ap::E2ConnectionSetupFailedItem<'_> {}
    e2ap::CriticalityDiagnostics<'_> {}
}

impl Value for RanFunctionRevision {
    fn change(&mut self, random: &mut Random) {
        self.0 = *random.pick(&[0, 1, 2, 4095]);
    }
}

/// Returns the values of a message.
fn fields<'m, 'a>(pdu: &'m mut Pdu<'a>) -> Vec<&'m mut dyn Value>
where
    'a: 'm,
{
    macro_rules! of {
        ($m:ident: $($field:ident),*) => { vec![$(&mut $m.$field),*] };
    }
    match pdu {
        Pdu::E2SetupRequest(m) => of!(m: transaction_id, global_e2_node_id, ran_functions_added,
            component_config_update_v1, component_config_addition),
        Pdu::E2SetupResponse(m) => of!(m: transaction_id, ran_functions_accepted, ran_functions_rejected,
            component_config_update_ack_v1, component_config_addition_ack),
        Pdu::E2SetupFailure(m) => of!(m: transaction_id, cause, criticality_diagnostics),
        Pdu::ResetRequest(m) => of!(m: transaction_id, cause),
        Pdu::ResetResponse(m) => of!(m: transaction_id, criticality_diagnostics),
        Pdu::ErrorIndication(m) => of!(m: transaction_id, request_id, ran_function_id, cause, criticality_diagnostics),
        Pdu::E2RemovalRequest(m) => of!(m: transaction_id),
        Pdu::E2RemovalResponse(m) => of!(m: transaction_id, criticality_diagnostics),
        Pdu::E2RemovalFailure(m) => of!(m: transaction_id, cause, criticality_diagnostics),
        Pdu::E2NodeConfigurationUpdate(m) => of!(m: transaction_id, global_e2_node_id, component_config_update_v1,
            component_config_addition, component_config_update, component_config_removal, tnl_association_removal),
        Pdu::E2NodeConfigurationUpdateAcknowledge(m) => of!(m: transaction_id, component_config_update_ack_v1,
            component_config_addition_ack, component_config_update_ack, component_config_removal_ack),
        Pdu::E2NodeConfigurationUpdateFailure(m) => of!(m: transaction_id, cause, criticality_diagnostics),
        Pdu::E2ConnectionUpdate(m) => of!(m: transaction_id, add, remove, modify),
        Pdu::E2ConnectionUpdateAcknowledge(m) => of!(m: transaction_id, setup, setup_failed),
        Pdu::E2ConnectionUpdateFailure(m) => of!(m: transaction_id, cause, criticality_diagnostics),
        Pdu::RicServiceQuery(m) => of!(m: transaction_id, ran_functions_accepted),
        Pdu::RicServiceUpdate(m) => of!(m: transaction_id, ran_functions_added, ran_functions_modified,
            ran_functions_deleted),
        Pdu::RicServiceUpdateAcknowledge(m) => of!(m: transaction_id, ran_functions_accepted, ran_functions_rejected),
        Pdu::RicServiceUpdateFailure(m) => of!(m: transaction_id, ran_functions_rejected, cause),
        Pdu::RicSubscriptionRequest(m) => {
            let details = &mut m.details;
            vec![&mut m.request_id, &mut m.ran_function_id, &mut details.event_trigger_definition, &mut details.actions]
        }
        Pdu::RicSubscriptionResponse(m) => of!(m: request_id, ran_function_id, actions_admitted, actions_not_admitted),
        Pdu::RicSubscriptionFailure(m) => of!(m: request_id, ran_function_id, actions_not_admitted, cause),
        Pdu::RicSubscriptionDeleteRequest(m) => of!(m: request_id, ran_function_id),
        Pdu::RicSubscriptionDeleteResponse(m) => of!(m: request_id, ran_function_id),
        Pdu::RicSubscriptionDeleteFailure(m) => of!(m: request_id, ran_function_id, cause),
        Pdu::RicSubscriptionDeleteRequired(m) => of!(m: subscriptions),
        Pdu::RicSubscriptionModificationRequest(m) => of!(m: request_id, ran_function_id, event_trigger_definition,
            actions_to_be_removed, actions_to_be_modified, actions_to_be_added),
        Pdu::RicSubscriptionModificationResponse(m) => of!(m: request_id, ran_function_id, actions_removed,
            actions_failed_to_be_removed, actions_modified, actions_failed_to_be_modified, actions_added,
            actions_failed_to_be_added),
        Pdu::RicSubscriptionModificationFailure(m) => of!(m: request_id, ran_function_id, cause),
        Pdu::RicSubscriptionModificationRequired(m) => of!(m: request_id, ran_function_id,
            actions_required_to_be_modified, actions_required_to_be_removed),
        Pdu::RicSubscriptionModificationConfirm(m) => of!(m: request_id, ran_function_id,
            actions_confirmed_for_modification, actions_refused_to_be_modified, actions_confirmed_for_removal,
            actions_refused_to_be_removed),
        Pdu::RicSubscriptionModificationRefuse(m) => of!(m: request_id, ran_function_id, cause),
        Pdu::RicIndication(m) => of!(m: request_id, ran_function_id, action_id, sn, kind, header, message,
            call_process_id),
        Pdu::RicControlRequest(m) => of!(m: request_id, ran_function_id, call_process_id, header, message),
        Pdu::RicControlAcknowledge(m) => of!(m: request_id, ran_function_id, call_process_id, outcome),
        Pdu::RicControlFailure(m) => of!(m: request_id, ran_function_id, call_process_id, cause, outcome),
        Pdu::RicQueryRequest(m) => of!(m: request_id, ran_function_id, header, definition),
        Pdu::RicQueryResponse(m) => of!(m: request_id, ran_function_id, outcome),
        Pdu::RicQueryFailure(m) => of!(m: request_id, ran_function_id, cause),
        other => unreachable!("no fields of {}: add them here", other.name()),
    }
}
