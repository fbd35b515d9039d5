//! The networks that the cells of a base station serve, as its setup declares them.

use std::collections::{BTreeMap, BTreeSet};

use ferric::e2::Node;
use ferric::e2ap::{E2NodeComponentConfigUpdateV1, E2NodeComponentId};
use ids::{PlmnIdentity, SNssai};
use per::Octets;

use crate::sla::{Sla, Tenant};

/// The networks of a base station, each with its slices as far as they are declared; empty if none is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Networks(BTreeMap<PlmnIdentity, BTreeSet<SNssai>>);

impl Networks {
    /// Reads the setup messages of a node's interfaces. A virtual node has UEs of its own PLMN only.
    pub fn of(node: &Node) -> Self {
        let mut networks = Networks::default();
        if !node.controller_path.entries().is_empty() {
            networks.0.insert(node.global_id.plmn_identity(), BTreeSet::new());
            return networks;
        }
        for item in &node.components.listed {
            let request = &item.configuration.request_part;
            match &item.id {
                E2NodeComponentId::Ng(_) => networks.read_ng(request),
                E2NodeComponentId::S1(_) => networks.read_s1(request),
                E2NodeComponentId::F1(_) => networks.read_f1(request),
                _ => {}
            }
        }
        for item in &node.components.listed_v1 {
            match &item.configuration {
                E2NodeComponentConfigUpdateV1::Gnb(gnb) => {
                    gnb.ng_ap.iter().for_each(|request| networks.read_ng(request));
                    gnb.f1_ap.iter().for_each(|request| networks.read_f1(request));
                }
                E2NodeComponentConfigUpdateV1::NgEnb(ng_enb) => {
                    ng_enb.ng_ap.iter().for_each(|request| networks.read_ng(request));
                }
                E2NodeComponentConfigUpdateV1::Enb(enb) => {
                    enb.s1_ap.iter().for_each(|request| networks.read_s1(request));
                }
                E2NodeComponentConfigUpdateV1::EnGnb(_) => {}
            }
        }
        networks
    }

    fn read_ng(&mut self, request: &Octets<'_>) {
        ap::ngap::visit_broadcast_plmns(&request.to_cow(), |network| {
            self.add(network.plmn_identity, network.s_nssais);
        });
    }

    fn add(&mut self, plmn: PlmnIdentity, s_nssais: Vec<SNssai>) {
        self.0.entry(plmn).or_default().extend(s_nssais);
    }

    fn read_s1(&mut self, request: &Octets<'_>) {
        ap::s1ap::visit_broadcast_plmns(&request.to_cow(), |plmn| self.add(plmn, Vec::new()));
    }

    fn read_f1(&mut self, request: &Octets<'_>) {
        ap::f1ap::visit_served_plmns(&request.to_cow(), |plmn| self.add(plmn, Vec::new()));
    }

    fn serve(&self, tenant: &Tenant) -> bool {
        self.0.get(&tenant.plmn).is_some_and(|slices| {
            slices.is_empty() || tenant.s_nssais.is_empty() || tenant.s_nssais.iter().any(|own| slices.contains(own))
        })
    }

    /// The tenants that have no UE here, in words; `None` if each may have some, or the base station declares nothing.
    pub fn without_ues(&self, sla: &Sla) -> Option<String> {
        let tenants = sla.tenants.iter().filter(|tenant| !tenant.is_vacant());
        let none = tenants.filter(|tenant| !self.0.is_empty() && !self.serve(tenant));
        let texts = none.map(|tenant| match &tenant.s_nssais[..] {
            [] => format!("{} ({})", tenant.name, tenant.plmn),
            slices => {
                let slices: Vec<String> = slices.iter().map(SNssai::to_string).collect();
                format!("{} ({}, S-NSSAI {})", tenant.name, tenant.plmn, slices.join(" "))
            }
        });
        Some(texts.collect::<Vec<_>>().join(", ")).filter(|texts| !texts.is_empty())
    }

    /// The networks in words.
    pub fn text(&self) -> String {
        let text = |(plmn, slices): (&PlmnIdentity, &BTreeSet<SNssai>)| {
            let slices: Vec<String> = slices.iter().map(SNssai::to_string).collect();
            if slices.is_empty() { plmn.to_string() } else { format!("{plmn} with S-NSSAI {}", slices.join(" ")) }
        };
        self.0.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use ids::Sst;

    use super::*;
    use crate::testing::{A, B, station_of};

    const UNKNOWN: PlmnIdentity = PlmnIdentity::from_codes(999, 99, 2);

    fn networks(served: &[(PlmnIdentity, &[u8])]) -> Networks {
        let slices = |ssts: &[u8]| ssts.iter().map(|sst| SNssai { sst: Sst([*sst]), sd: None }).collect();
        Networks(served.iter().map(|(plmn, ssts)| (*plmn, slices(ssts))).collect())
    }

    #[test]
    fn tenants_whose_network_no_cell_serves_are_named() {
        let node = station_of(&[(A, ""), (B, "\"2\", \"3\""), (UNKNOWN, "")]);
        let without = |served| networks(served).without_ues(&node.sla);
        assert_eq!(without(&[(A, &[1]), (B, &[1, 3]), (UNKNOWN, &[])]), None);
        assert_eq!(without(&[(A, &[1]), (B, &[])]), Some("c (99999)".to_owned()));
        assert_eq!(without(&[(A, &[]), (B, &[1])]), Some("b (00102, S-NSSAI 2 3), c (99999)".to_owned()));
        // a base station that declares no networks
        assert_eq!(without(&[]), None);
        assert_eq!(networks(&[(A, &[1, 2]), (B, &[])]).text(), "00101 with S-NSSAI 1 2, 00102");
    }
}
