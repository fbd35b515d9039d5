//! E2SM-LLC: what the lower layers of a gNB know, and downlink scheduling by a controller.
//!
//! Data radio bearer n has logical channel n + 3, since 1 to 3 are those of signalling radio bearers. A grant is a transport block on
//! the layers that the UE has reported; the model has no precoders and no frequency-selective scheduling, so a grant's resource blocks
//! matter by their number. Delay budgets are those of the 5QIs; the wait in a buffer counts from its entry there.

mod srs;
#[cfg(all(test, feature = "all"))]
mod tests;

use std::time::Duration;

use e2sm::common::{Cgi, UeId};
use e2sm::llc::{ExecutionCause, LogicalChannelId};
use ferric::agent::Ue;
use ferric::e2::Time;
use per::Bits;
use radio::phy::{Direction, Rat};
use radio::{Bearer, DecidedGrant, DelegatedBearer, Shortfall};
use ran_functions::kpm::KpmSource;
use ran_functions::llc::{
    Arrivals, BufferStatus, CellFormat, CsiReport, DelegatedChannel, HarqCounts, LlcSource, ReceivedSrs, SlotDecision,
    SlotRefusal, SlotScheduler,
};

use crate::node::{Node, place_of};

/// The logical channel before that of bearer 1.
const SIGNALLING_CHANNELS: u8 = 3;
/// The last logical channel (TS 38.331 LogicalChannelIdentity). Bearers beyond it have none.
const LAST_CHANNEL: u8 = 32;
/// Bits of a CQI (TS 38.212 6.3.1.1.2).
const CQI_BITS: u8 = 4;

fn channel_of(bearer: &Bearer) -> Option<u8> {
    let channel = bearer.id().checked_add(SIGNALLING_CHANNELS)?;
    (channel <= LAST_CHANNEL).then_some(channel)
}

fn bearer_of(channel: LogicalChannelId) -> Option<u8> {
    u8::try_from(channel.0).ok()?.checked_sub(SIGNALLING_CHANNELS).filter(|bearer| *bearer > 0)
}

/// The packet delay budget of a 5QI (TS 23.501 table 5.7.4-1); of one that the table does not have, that of 5QI 9.
fn delay_budget(five_qi: u8) -> Duration {
    Duration::from_millis(match five_qi {
        3 | 79 => 50,
        1 | 5 | 7 | 66 | 67 => 100,
        2 => 150,
        65 => 75,
        69 => 60,
        70 => 200,
        80 => 10,
        _ => 300,
    })
}

impl Node {
    /// Whether it has RLC and MAC of NR, whose slots E2SM-LLC numbers.
    pub fn has_lower_layers(&self) -> bool {
        self.node_type.has_mac() && self.cell().grid().carrier().rat == Rat::Nr
    }

    fn budget_of(&self, ue: Ue) -> Duration {
        delay_budget(self.context(ue).map_or(0, |context| context.five_qi[0].0))
    }
}

impl SlotScheduler for Node {
    fn next_slot(&self) -> u64 {
        self.cell().slot()
    }

    fn has_downlink(&self, slot: u64) -> bool {
        self.cell().grid().slot_kind(slot).0 > 0
    }

    fn set_delegated(&mut self, channels: &[DelegatedChannel]) {
        let bearer = |held: &DelegatedChannel| {
            let (ue, bearer) = (place_of(held.ue) as u32, bearer_of(held.channel)?);
            Some(DelegatedBearer { ue, bearer, from: held.from, until: held.until })
        };
        let bearers = channels.iter().filter_map(bearer).collect();
        self.cell_mut().set_delegated(bearers);
    }

    fn schedule(&mut self, decision: &mut SlotDecision) {
        let grants = decision.grants.iter().map(|grant| DecidedGrant {
            ue: place_of(grant.ue) as u32,
            prbs: grant.allocation.length.into(),
            mcs: grant.mcs,
            // a channel without a bearer has no octets
            shares: grant
                .channels
                .iter()
                .map(|share| bearer_of(share.channel).map_or((0, 0), |bearer| (bearer, share.octets)))
                .collect(),
        });
        let plan = self.cell_mut().decide(decision.slot, grants.collect());
        let shares = decision.grants.iter_mut().flat_map(|grant| &mut grant.channels);
        for (share, (octets, shortfall)) in shares.zip(plan.into_iter().flatten()) {
            share.scheduled = octets;
            share.cause = match shortfall {
                Some(Shortfall::NoUe) => Some(ExecutionCause::UeNotAvailable),
                Some(Shortfall::Retransmission) => Some(ExecutionCause::Retransmissions),
                Some(Shortfall::Buffer) => Some(ExecutionCause::BufferEmpty),
                Some(Shortfall::Room) => Some(ExecutionCause::Other),
                None => None,
            };
        }
    }

    fn refused(&mut self, _slot: u64, refusal: SlotRefusal) {
        self.cell_mut().count_refused(refusal == SlotRefusal::Past);
    }
}

impl LlcSource for Node {
    fn format(&self) -> CellFormat {
        let cell = self.cell();
        CellFormat {
            numerology: cell.grid().carrier().numerology,
            resource_blocks: cell.grid().prbs(),
            mcs_count: cell.blocks(Direction::Downlink).mcs_count(),
        }
    }

    fn cell(&self) -> Cgi {
        KpmSource::cell(self)
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }

    fn slot_offset_ns(&self, now: Time, slot: u64) -> i64 {
        let slot_ns = self.cell().grid().slot().as_nanos();
        let begin = i128::from(slot) * slot_ns as i128; // at most a millisecond
        let now = i128::from(self.simulation.borrow().time_at(now).as_nanos());
        (begin - now).clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        KpmSource::ue_id(self, ue)
    }

    fn rlc_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>) {
        let (cell, budget) = (self.cell(), self.budget_of(ue));
        let Some(state) = self.place(ue).and_then(|place| cell.ue(place)) else { return };
        let now = cell.now();
        out.extend(state.bearers().iter().filter_map(|bearer| {
            let rlc = bearer.downlink();
            Some(BufferStatus {
                id: channel_of(bearer)?,
                octets: rlc.demand_octets(now),
                time_to_live: (rlc.waiting_packets() > 0).then(|| budget.saturating_sub(rlc.head_wait(now))),
            })
        }));
    }

    fn pdcp_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>) {
        if !self.node_type.has_pdcp() {
            return;
        }
        let (cell, budget) = (self.cell(), self.budget_of(ue));
        let Some(state) = self.place(ue).and_then(|place| cell.ue(place)) else { return };
        let now = cell.now();
        out.extend(state.bearers().iter().map(|bearer| {
            let (octets, oldest) = bearer.tc().backlog();
            BufferStatus {
                id: bearer.id(),
                octets: u32::try_from(octets).unwrap_or(u32::MAX),
                time_to_live: oldest.map(|entered| budget.saturating_sub(now.since(entered))),
            }
        }));
    }

    fn harq(&self, ue: Ue) -> HarqCounts {
        let cell = self.cell();
        let state = self.place(ue).and_then(|place| cell.ue(place));
        state.map_or_else(HarqCounts::default, |state| {
            let feedback = state.downlink().feedback();
            HarqCounts { acks: feedback.acks, nacks: feedback.nacks, dtxs: 0 }
        })
    }

    fn arrivals(&self, ue: Ue) -> Arrivals {
        let cell = self.cell();
        let state = self.place(ue).and_then(|place| cell.ue(place));
        state.map_or_else(Arrivals::default, |state| Arrivals {
            csi: state.downlink().counts().reports,
            srs: state.uplink().counts().reports,
        })
    }

    /// Rank indicator and wideband CQI without precoding matrix (reportQuantity cri-RI-CQI, one CSI-RS resource).
    fn csi(&self, ue: Ue) -> Option<CsiReport> {
        let cell = self.cell();
        let state = cell.ue(self.place(ue)?)?;
        let layers = cell.grid().carrier().downlink_layers.max(1);
        let rank_bits = layers.next_power_of_two().trailing_zeros() as u8;
        let (rank, cqi) = (state.downlink().layers() - 1, state.downlink().cqi());
        let value = u64::from(rank) << CQI_BITS | u64::from(cqi);
        Some(CsiReport { config_id: 0, part1: Bits::new(value, rank_bits + CQI_BITS) })
    }

    fn srs(&self, ue: Ue) -> Option<ReceivedSrs> {
        let cell = self.cell();
        let state = cell.ue(self.place(ue)?)?;
        Some(vec![vec![srs::symbol(&cell, state)]])
    }
}
