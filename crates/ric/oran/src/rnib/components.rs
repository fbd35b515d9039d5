//! The components of a node in R-NIB: its interfaces, each with the messages that have set it up. Cells are in the F1, Xn, X2, NG and S1
//! setup messages.

use ferric::e2::Components;
use ferric::e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentId, E2NodeComponentInterfaceType, GlobalE2NodeEnGnbId,
    GlobalE2NodeEnbId, GlobalE2NodeId, GlobalE2NodeNgEnbId, GlobalNgRanNodeId,
};
use protobuf::{Octets, message};

use super::{enb_type, gnb_type};
use crate::names::{identity_bits, plmn_octets};

/// Octets of the messages of all components of a node. Beyond them a component is without its messages: the shared data layer limits what
/// may wait for it.
const MAX_MESSAGE_OCTETS: usize = 64 << 10;

message! {
    /// An NG interface.
    Ng {
        /// The AMF.
        amf_name: String = 11,
    }
}

message! {
    /// An Xn interface: one of two identities.
    Xn {
        /// An ng-eNB.
        global_ngenb_id: Option<XnNgEnb> = 12,
        /// A gNB.
        global_gnb_id: Option<XnGnb> = 13,
    }
}

message! {
    /// The ng-eNB at the other end of Xn.
    XnNgEnb {
        /// As in the identity of a node.
        plmn_identity: String = 29,
        /// As in the identity of a node.
        enb_id: String = 30,
        /// The form of the identity.
        enb_type: u32 = 31,
    }
}

message! {
    /// The gNB at the other end of Xn.
    XnGnb {
        /// As in the identity of a node.
        plmn_identity: String = 26,
        /// As in the identity of a node.
        gnb_id: String = 27,
        /// A gNB, or an en-gNB.
        gnb_type: u32 = 28,
    }
}

message! {
    /// An E1 interface.
    E1 {
        /// The gNB-CU-UP ID, whatever the name says.
        gnb_cu_cp_id: u64 = 14,
    }
}

message! {
    /// An F1 interface.
    F1 {
        /// The DU.
        gnb_du_id: u64 = 15,
    }
}

message! {
    /// A W1 interface.
    W1 {
        /// The DU.
        ngenb_du_id: u64 = 16,
    }
}

message! {
    /// An S1 interface.
    S1 {
        /// The MME.
        mme_name: String = 17,
    }
}

message! {
    /// An X2 interface: both identities may be there.
    X2 {
        /// An eNB.
        global_enb_id: Option<X2Enb> = 18,
        /// An en-gNB.
        global_engnb_id: Option<X2EnGnb> = 19,
    }
}

message! {
    /// The eNB at the other end of X2.
    X2Enb {
        /// As in the identity of a node.
        plmn_identity: String = 20,
        /// As in the identity of a node.
        enb_id: String = 21,
        /// The form of the identity.
        enb_type: u32 = 22,
    }
}

message! {
    /// The en-gNB at the other end of X2.
    X2EnGnb {
        /// As in the identity of a node.
        plmn_identity: String = 23,
        /// As in the identity of a node.
        gnb_id: String = 24,
        /// A gNB, or an en-gNB.
        gnb_type: u32 = 25,
    }
}

message! {
    /// A component; one of the interfaces is there.
    Component {
        /// An NG interface.
        ng: Option<Ng> = 1,
        /// An Xn interface.
        xn: Option<Xn> = 2,
        /// An E1 interface.
        e1: Option<E1> = 3,
        /// An F1 interface.
        f1: Option<F1> = 4,
        /// A W1 interface.
        w1: Option<W1> = 5,
        /// An S1 interface.
        s1: Option<S1> = 6,
        /// An X2 interface.
        x2: Option<X2> = 7,
        /// Which one it is.
        interface_type: u32 = 8,
        /// The message that requested the setup.
        request_part: Octets = 9,
        /// Its answer.
        response_part: Octets = 10,
    }
}

/// The components of a node. Those of E2AP v01.01 have another form, without messages of all interfaces: they are left out.
pub(super) fn of(components: &Components) -> Vec<Component> {
    let mut left = MAX_MESSAGE_OCTETS;
    components.listed.iter().map(|item| component(item, &mut left)).collect()
}

fn component(item: &E2NodeComponentConfigAdditionItem<'_>, left: &mut usize) -> Component {
    let mut component = Component { interface_type: interface_type(item.interface_type), ..Component::default() };
    match &item.id {
        E2NodeComponentId::Ng(ng) => component.ng = Some(Ng { amf_name: ng.amf_name.as_str().to_owned() }),
        E2NodeComponentId::Xn(xn) => component.xn = Some(xn_of(xn.global_ng_ran_node_id)),
        E2NodeComponentId::E1(e1) => component.e1 = Some(E1 { gnb_cu_cp_id: e1.gnb_cu_up_id.0 as u64 }),
        E2NodeComponentId::F1(f1) => component.f1 = Some(F1 { gnb_du_id: f1.gnb_du_id.0 as u64 }),
        E2NodeComponentId::W1(w1) => component.w1 = Some(W1 { ngenb_du_id: w1.ng_enb_du_id.0 as u64 }),
        E2NodeComponentId::S1(s1) => component.s1 = Some(S1 { mme_name: s1.mme_name.as_str().to_owned() }),
        E2NodeComponentId::X2(x2) => {
            let enb = x2.global_enb_id.map(|global_enb_id| {
                let id = GlobalE2NodeId::Enb(GlobalE2NodeEnbId { global_enb_id });
                let enb_type = enb_type(&id).unwrap_or_default();
                X2Enb { plmn_identity: plmn_octets(&id), enb_id: identity_bits(&id), enb_type }
            });
            let en_gnb = x2.global_en_gnb_id.map(|global_en_gnb_id| {
                let (en_gnb_cu_up_id, en_gnb_du_id) = (None, None);
                let id = GlobalE2NodeId::EnGnb(GlobalE2NodeEnGnbId { global_en_gnb_id, en_gnb_cu_up_id, en_gnb_du_id });
                X2EnGnb { plmn_identity: plmn_octets(&id), gnb_id: identity_bits(&id), gnb_type: gnb_type(&id) }
            });
            component.x2 = Some(X2 { global_enb_id: enb, global_engnb_id: en_gnb });
        }
    }
    let (request, response) = (&item.configuration.request_part, &item.configuration.response_part);
    if let Some(rest) = left.checked_sub(request.len() + response.len()) {
        *left = rest;
        component.request_part = Octets(request.to_cow().into_owned());
        component.response_part = Octets(response.to_cow().into_owned());
    }
    component
}

fn xn_of(peer: GlobalNgRanNodeId) -> Xn {
    match peer {
        GlobalNgRanNodeId::Gnb(gnb) => {
            let id = GlobalE2NodeId::gnb(gnb.plmn_identity, gnb.gnb_id);
            let gnb = XnGnb { plmn_identity: plmn_octets(&id), gnb_id: identity_bits(&id), gnb_type: gnb_type(&id) };
            Xn { global_ngenb_id: None, global_gnb_id: Some(gnb) }
        }
        GlobalNgRanNodeId::NgEnb(global_ng_enb_id) => {
            let (global_enb_id, ng_enb_du_id) = (None, None);
            let id = GlobalE2NodeId::NgEnb(GlobalE2NodeNgEnbId { global_ng_enb_id, global_enb_id, ng_enb_du_id });
            let enb_type = enb_type(&id).unwrap_or_default();
            let enb = XnNgEnb { plmn_identity: plmn_octets(&id), enb_id: identity_bits(&id), enb_type };
            Xn { global_ngenb_id: Some(enb), global_gnb_id: None }
        }
    }
}

/// The platform's numbers of interfaces, which has none for 4.
fn interface_type(kind: E2NodeComponentInterfaceType) -> u32 {
    match kind {
        E2NodeComponentInterfaceType::Ng => 0,
        E2NodeComponentInterfaceType::Xn => 1,
        E2NodeComponentInterfaceType::E1 => 2,
        E2NodeComponentInterfaceType::F1 => 3,
        E2NodeComponentInterfaceType::W1 => 5,
        E2NodeComponentInterfaceType::S1 => 6,
        E2NodeComponentInterfaceType::X2 => 7,
    }
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::{
        E2NodeComponentConfiguration, E2NodeComponentInterfaceE1, E2NodeComponentInterfaceF1,
        E2NodeComponentInterfaceXn, GlobalGnbId, GnbId, PlmnIdentity,
    };
    use ids::{GnbCuUpId, GnbDuId};
    use protobuf::Codec;

    use super::*;

    fn item(
        interface_type: E2NodeComponentInterfaceType,
        id: E2NodeComponentId<'static>,
        octets: usize,
    ) -> E2NodeComponentConfigAdditionItem<'static> {
        let [request_part, response_part] = [vec![1; octets], vec![2; octets]].map(Into::into);
        let configuration = E2NodeComponentConfiguration { request_part, response_part };
        E2NodeComponentConfigAdditionItem { interface_type, id, configuration }
    }

    fn f1(du: i64, octets: usize) -> E2NodeComponentConfigAdditionItem<'static> {
        let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(du) });
        item(E2NodeComponentInterfaceType::F1, id, octets)
    }

    #[test]
    fn component_has_its_interface_and_its_messages() {
        let peer = GlobalGnbId { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), gnb_id: GnbId::new(5, 22) };
        let xn = E2NodeComponentInterfaceXn { global_ng_ran_node_id: GlobalNgRanNodeId::Gnb(peer) };
        let e1 = E2NodeComponentInterfaceE1 { gnb_cu_up_id: GnbCuUpId(3) };
        let listed = vec![
            item(E2NodeComponentInterfaceType::Xn, E2NodeComponentId::Xn(xn), 2),
            item(E2NodeComponentInterfaceType::E1, E2NodeComponentId::E1(e1), 0),
        ];
        let [xn, e1] = &of(&Components { listed, listed_v1: Vec::new() })[..] else { panic!("two components") };
        let gnb = xn.xn.as_ref().and_then(|xn| xn.global_gnb_id.as_ref()).unwrap();
        assert_eq!((gnb.plmn_identity.as_str(), gnb.gnb_type), ("00F110", 1));
        assert_eq!(gnb.gnb_id, "0000000000000000000101");
        assert_eq!((xn.interface_type, &xn.request_part.0[..], &xn.response_part.0[..]), (1, &[1, 1][..], &[2, 2][..]));
        assert_eq!((e1.interface_type, e1.e1.as_ref().unwrap().gnb_cu_cp_id), (2, 3));
        assert_eq!(Component::decode(&xn.encode()).unwrap(), *xn);
    }

    #[test]
    fn components_beyond_the_bound_are_without_their_messages() {
        let listed = [(1, MAX_MESSAGE_OCTETS / 4), (2, MAX_MESSAGE_OCTETS / 2), (3, MAX_MESSAGE_OCTETS / 4)];
        let listed = listed.map(|(du, octets)| f1(du, octets)).to_vec();
        let components = of(&Components { listed, listed_v1: Vec::new() });
        let octets: Vec<_> = components.iter().map(|component| component.request_part.0.len()).collect();
        assert_eq!(octets, [MAX_MESSAGE_OCTETS / 4, 0, MAX_MESSAGE_OCTETS / 4]);
        let dus = components.iter().map(|component| component.f1.as_ref().unwrap().gnb_du_id);
        assert_eq!(dus.collect::<Vec<_>>(), [1, 2, 3]);
    }
}
