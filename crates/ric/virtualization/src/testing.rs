//! A base station with the UEs of two tenants, for tests.

use std::sync::Arc;

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RanUeId, RntiValue, UeId, UeIdGnbDu};
use e2sm::rrc::{Event, Ipv4Address, Notification};

use crate::node::NodeState;
use crate::sla::Sla;
use crate::ues::Change;

/// The PLMN of the first tenant, which is also that of the base station.
pub(crate) const A: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
/// The PLMN of the second tenant.
pub(crate) const B: PlmnIdentity = PlmnIdentity::from_codes(1, 2, 2);

/// A base station without UEs, half of it for each of the tenants `a` and `b`.
pub(crate) fn station() -> NodeState {
    station_of(&[(A, ""), (B, "")])
}

/// A base station without UEs, an equal part of it for each of these tenants: their PLMNs and S-NSSAIs (`"1", "2-00000a"`).
pub(crate) fn station_of(tenants: &[(PlmnIdentity, &str)]) -> NodeState {
    let share = 100 / tenants.len();
    let tenant = |(at, (plmn, s_nssais)): (usize, &(PlmnIdentity, &str))| {
        let (name, port) = (char::from(b'a' + at as u8), at + 1);
        format!(
            "[[tenant]]\nname = \"{name}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\ns_nssais = [{s_nssais}]\nric = \"tcp://127.0.0.1:{port}\"\n"
        )
    };
    let sla = Sla::parse(&tenants.iter().enumerate().map(tenant).collect::<String>()).unwrap();
    NodeState::new("gnb".to_owned(), A, Arc::new(sla))
}

/// The UE ID that the base station reports.
pub(crate) fn ue_id(number: u16) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu {
        gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number.into()),
        ran_ueid: Some(RanUeId(u64::from(number).to_be_bytes())),
        cell_rnti: None,
    })
}

/// Reports an event of a UE.
pub(crate) fn notify(node: &mut NodeState, number: u16, plmn: PlmnIdentity, event: Event) {
    notify_of(node, 1, (number, number), plmn, event, None);
}

/// Reports an event of a UE whose RNTI is the second number. Returns what it has changed.
pub(crate) fn notify_as(node: &mut NodeState, numbers: (u16, u16), plmn: PlmnIdentity, event: Event) -> Vec<Change> {
    notify_of(node, 1, numbers, plmn, event, None)
}

/// The same in a cell.
pub(crate) fn notify_in(
    node: &mut NodeState,
    cell: u64,
    numbers: (u16, u16),
    plmn: PlmnIdentity,
    event: Event,
) -> Vec<Change> {
    notify_of(node, cell, numbers, plmn, event, None)
}

/// Reports an event of a UE with an address.
pub(crate) fn notify_with_address(
    node: &mut NodeState,
    number: u16,
    plmn: PlmnIdentity,
    event: Event,
    address: Ipv4Address,
) {
    notify_of(node, 1, (number, number), plmn, event, Some(address));
}

fn notify_of(
    node: &mut NodeState,
    cell: u64,
    numbers: (u16, u16),
    plmn: PlmnIdentity,
    event: Event,
    address: Option<Ipv4Address>,
) -> Vec<Change> {
    let sla = node.sla.clone();
    let cell = Cgi::NrCgi(NrCgi::new(A, cell));
    node.ues.notified(&Notification { cell, ..event_of(numbers, plmn, event, address) }, &sla)
}

/// An event of a UE with a number in its UE ID, and an RNTI.
pub(crate) fn event_of(
    (number, rnti): (u16, u16),
    plmn: PlmnIdentity,
    event: Event,
    address: Option<Ipv4Address>,
) -> Notification<'static> {
    Notification {
        event,
        ue_id: ue_id(number),
        rnti: RntiValue(rnti),
        cell: Cgi::NrCgi(NrCgi::new(A, 1)),
        plmn,
        s_nssais: Vec::new().into(),
        addresses: address.map(|address| vec![address].into()),
    }
}
