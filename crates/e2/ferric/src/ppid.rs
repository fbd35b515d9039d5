//! Which SCTP payload protocol a node's E2 is.

use e2ap::GlobalE2NodeId;
use link::Ppid;

/// The SCTP payload protocol identifier by the node's type.
pub(crate) fn ppid_of(node: GlobalE2NodeId) -> Ppid {
    let (is_du, is_cu_up) = match node {
        GlobalE2NodeId::Gnb(id) => (id.gnb_du_id.is_some(), id.gnb_cu_up_id.is_some()),
        GlobalE2NodeId::EnGnb(id) => (id.en_gnb_du_id.is_some(), id.en_gnb_cu_up_id.is_some()),
        GlobalE2NodeId::NgEnb(id) => (id.ng_enb_du_id.is_some(), false),
        GlobalE2NodeId::Enb(_) => (false, false),
    };
    match (is_du, is_cu_up) {
        (true, _) => Ppid::E2_DU,
        (_, true) => Ppid::E2_UP,
        _ => Ppid::E2_CP,
    }
}

#[cfg(test)]
mod tests {
    use e2ap::{GnbCuUpId, GnbDuId, GnbId, PlmnIdentity};

    use super::*;

    #[test]
    fn the_payload_protocol_follows_the_node_type() {
        let whole = GlobalE2NodeId::gnb(PlmnIdentity([0x00, 0xf1, 0x10]), GnbId::new(7, 22));
        assert_eq!(ppid_of(whole), Ppid::E2_CP);
        let GlobalE2NodeId::Gnb(mut id) = whole else { panic!("a gNB") };
        id.gnb_cu_up_id = Some(GnbCuUpId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_UP);
        id.gnb_cu_up_id = None;
        id.gnb_du_id = Some(GnbDuId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_DU);
    }
}
