//! GTP: the tunnel of each UE's one QoS flow.

use e2sm::gtp::Tunnel;
use ferric::agent::Ue;
use ran_functions::statistics::StatisticsSource;

use super::rnti;
use crate::node::{Node, place_of};

impl StatisticsSource<Tunnel> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<Tunnel>) {
        // an endpoint is free for its owner to number: by node and place, and at the UPF by UE
        let teid_gnb = self.gnb << 16 | place_of(ue) as u32;
        let facts = self.facts(ue);
        out.push(Tunnel {
            rnti: rnti(ue).into(),
            teid_gnb,
            qfi: facts.map_or(0, |facts| facts.qfi),
            teid_upf: 1 + facts.map_or(0, |facts| facts.number as u32),
        });
    }
}
