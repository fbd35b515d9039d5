//! A base station with the UEs of two tenants, for tests.

use std::sync::Arc;

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RanUeId, RntiValue, UeId, UeIdGnbDu};
use e2sm::rrc::{Event, Ipv4Address, Notification};

use crate::node::NodeState;
use crate::sla::Sla;

/// The PLMN of the first tenant, which is also that of the base station.
pub(crate) const A: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
/// The PLMN of the second tenant.
pub(crate) const B: PlmnIdentity = PlmnIdentity::from_codes(1, 2, 2);

/// A base station without UEs, half of it for each of the tenants `a` and `b`.
pub(crate) fn station() -> NodeState {
    let tenant = |name: &str, plmn: PlmnIdentity| {
        format!("[[tenant]]\nname = \"{name}\"\nshare_percent = 50\nplmn = \"{plmn}\"\nric = \"tcp://127.0.0.1:1\"\n")
    };
    let sla = Sla::parse(&(tenant("a", A) + &tenant("b", B))).unwrap();
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
    notify_of(node, number, plmn, event, None);
}

/// Reports an event of a UE with an address.
pub(crate) fn notify_with_address(
    node: &mut NodeState,
    number: u16,
    plmn: PlmnIdentity,
    event: Event,
    address: Ipv4Address,
) {
    notify_of(node, number, plmn, event, Some(address));
}

fn notify_of(node: &mut NodeState, number: u16, plmn: PlmnIdentity, event: Event, address: Option<Ipv4Address>) {
    let notification = Notification {
        event,
        ue_id: ue_id(number),
        rnti: RntiValue(number),
        cell: Cgi::NrCgi(NrCgi::new(A, 1)),
        plmn,
        s_nssais: Vec::new().into(),
        addresses: address.map(|address| vec![address].into()),
    };
    let sla = node.sla.clone();
    node.ues.notified(&notification, &sla);
}
