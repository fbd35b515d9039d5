//! GTP: the tunnel of each UE's QoS flow.

use e2sm::gtp::Tunnel;
use ferric::agent::Ue;
use ran_functions::kpm::KpmSource;
use ran_functions::statistics::StatisticsSource;

use crate::node::{Node, place_of, rnti_of};

impl StatisticsSource<Tunnel> for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<Tunnel>) {
        // each end numbers its own TEIDs: the gNB by place, the UPF by UE
        let teid_gnb = self.gnb << 16 | place_of(ue) as u32;
        let context = self.context(ue);
        out.push(Tunnel {
            rnti: rnti_of(ue).into(),
            teid_gnb,
            qfi: context.map_or(0, |context| context.qfi),
            teid_upf: 1 + context.map_or(0, |context| context.number as u32),
        });
    }
}
