//! Secondary cells of UEs of E-UTRA, as copies of the RRC messages that add and release them (E2SM-RC report style 1). UEs of NR
//! report the identities of all their serving cells; those of E-UTRA report indices, which these messages explain.

use ap::lte_rrc::{AddedCell, RRC_CONNECTION_RECONFIGURATION, SecondaryCells};
use e2sm::common::{RrcClassLte, RrcMessageId, RrcType};
use radio::phy::{Carrier, Duplex, Grid};
use radio::{SecondaryCell, UeEntry};
use ran_functions::rc::Event;

use crate::band::earfcn;
use crate::node::{Node, ue_of};
use crate::node_type::NodeType;

/// Subcarriers of a PRB.
const SUBCARRIERS: f64 = 12.0;

/// The type of the message.
const RECONFIGURATION: RrcMessageId =
    RrcMessageId { rrc_type: RrcType::Lte(RrcClassLte::DlDcch), message_id: RRC_CONNECTION_RECONFIGURATION };

/// The configuration of a secondary cell; `None` if no band contains its carrier.
fn added(index: u8, pci: u16, grid: &Grid, power_dbm: f64) -> Option<AddedCell> {
    let carrier: &Carrier = grid.carrier();
    let tdd = match carrier.duplex {
        Duplex::LteTdd { configuration, special_subframe } => Some((configuration, special_subframe)),
        _ => None,
    };
    let prbs = grid.prbs() as u8; // at most 100
    let element_dbm = power_dbm - 10.0 * (SUBCARRIERS * f64::from(prbs)).log10();
    Some(AddedCell {
        index,
        pci,
        earfcn: earfcn(carrier)?,
        prbs,
        ports: match carrier.downlink_layers {
            1 => 1,
            2 => 2,
            _ => 4,
        },
        reference_signal_dbm: element_dbm.round().clamp(-60.0, 50.0) as i8,
        tdd,
    })
}

impl Node {
    /// Reports the message that adds a secondary cell of a UE, or releases it.
    pub fn report_secondary_cell(&mut self, stay: &UeEntry, secondary: SecondaryCell, is_added: bool) {
        if self.node_type != NodeType::Enb {
            return;
        }
        let mut message = SecondaryCells::default();
        if is_added {
            let simulation = self.simulation.borrow();
            let grid = simulation.model.network.cell(secondary.cell).grid();
            let power_dbm = simulation.model.power_dbm(secondary.cell);
            let Some(added) = added(secondary.index, simulation.pcis[secondary.cell], grid, power_dbm) else { return };
            message.added.push(added);
        } else {
            message.released.push(secondary.index);
        }
        let octets = message.encode();
        let octets =
            octets.unwrap_or_else(|error| panic!("the model's values are within the protocol's bounds: {error}"));
        let ue = ue_of(stay);
        self.mobility.events.report(Event::RrcMessage { ue, id: RECONFIGURATION, from_ue: false, octets });
    }
}
