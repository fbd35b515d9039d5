//! An agent, its eNB and its UEs: what its messages mean.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flexran::{
    Body, CellConfig, EnbConfig, GtpStatistics, LogicalChannel, MacStatistics, MeasurementEvents, Neighbour, PlmnId,
    RrcMeasurements, UeChannels, UeConfig, UeStateChangeKind, UeStatistics,
};
use ids::PlmnIdentity;

use crate::collector::Output;
use crate::collector::ues::{BearerReport, Identity, Moment, Scope, Ues};
use crate::event::{BearerQos, CellMeasurement, Change, Quantities, Tunnel};
use crate::identity::Cell;
use crate::state::BearerState;
use ap::lte_rrc::{rsrp_range as eutra_rsrp, rsrq_range as eutra_rsrq};

/// The logical channel of the first data bearer; 1 and 2 are those of signalling.
const FIRST_LCID: u32 = 3;
/// The E-RAB of the first data bearer: EPS bearers begin with 5 (TS 24.007 11.2.3.1.5).
const FIRST_E_RAB: u32 = 5;
/// The most cells of an eNB that are kept.
const MAX_CELLS: usize = 32;

/// What all agents share.
#[derive(Debug)]
pub(super) struct Shared {
    pub ues: Ues,
    /// The cells of all eNBs by physical identity, and the agent of each.
    pub cells: BTreeMap<(u32, Cell), Scope>,
}

impl Shared {
    /// The cell of a physical identity; `None` if several have it.
    fn find(&self, pci: i32) -> Option<Cell> {
        let pci = u32::try_from(pci).ok()?;
        let mut found = self.cells.keys().filter(|(of, _)| *of == pci).map(|(_, cell)| *cell);
        found.next().filter(|_| found.next().is_none())
    }
}

/// A connected agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub scope: Scope,
    pub enb_id: u32,
    cells: BTreeMap<u32, (Cell, CellConfig)>,
    /// The UEs by C-RNTI.
    ues: HashMap<u32, KnownUe>,
    /// When the last statistics arrived, in nanoseconds of Unix time.
    counted_ns: Option<u64>,
}

#[derive(Debug)]
struct KnownUe {
    key: String,
    carrier: u32,
    events: MeasurementEvents,
    is_gbr: bool,
    counted: Option<MacStatistics>,
}

impl Agent {
    pub fn new(scope: Scope) -> Self {
        Agent { scope, enb_id: 0, cells: BTreeMap::new(), ues: HashMap::new(), counted_ns: None }
    }

    /// Reads a message. Returns whether the configurations of UEs have changed, so that they are requested again.
    pub fn read(&mut self, body: Body, at: Moment, shared: &mut Shared, output: &dyn Output) -> bool {
        match body {
            Body::Hello(hello) => self.enb_id = hello.bs_id.map_or(self.enb_id, |id| id as u32),
            Body::EnbConfig(config) => self.configure(config, shared, output),
            Body::UeConfigs(configs) => {
                for ue in &configs.ues {
                    self.see(ue, at, shared, output);
                }
                // those that are gone without a notification
                let reported: BTreeSet<u32> = configs.ues.iter().map(|ue| ue.rnti).collect();
                let gone: Vec<u32> = self.ues.keys().copied().filter(|rnti| !reported.contains(rnti)).collect();
                gone.into_iter().for_each(|rnti| self.leave(rnti, at, shared));
            }
            Body::LogicalChannels(channels) => {
                channels.ues.iter().for_each(|ue| self.report_channels(ue, at, shared, output));
            }
            Body::Statistics(statistics) => self.report_statistics(&statistics.ues, at, shared, output),
            Body::UeStateChange(change) => match change.kind {
                UeStateChangeKind::DEACTIVATED => {
                    if let Some(ue) = self.ues.remove(&change.config.rnti) {
                        shared.ues.release(&ue.key, at, output);
                    }
                }
                UeStateChangeKind::MOVED => self.leave(change.config.rnti, at, shared),
                kind => {
                    let key = self.see(&change.config, at, shared, output);
                    if let Some(key) = key.filter(|_| kind == UeStateChangeKind::ACTIVATED) {
                        shared.ues.arrive(&key);
                    }
                    return true;
                }
            },
            _ => {}
        }
        false
    }

    fn configure(&mut self, config: EnbConfig, shared: &mut Shared, output: &dyn Output) {
        // newer agents state it in their hello
        self.enb_id = config.enb_id.unwrap_or(self.enb_id);
        self.forget_cells(shared, output);
        for cell in config.cells.into_iter().take(MAX_CELLS) {
            let Some(plmn) = cell.plmns.first().and_then(plmn) else { continue };
            // a macro eNB has 20 bits of the cell identity (TS 36.413 9.2.1.37); the protocol numbers its carriers
            let identity = (self.enb_id & 0xf_ffff) << 8 | cell.carrier_index & 0xff;
            let global = Cell::eutra(plmn, identity);
            shared.cells.insert((cell.pci, global), self.scope);
            self.cells.insert(cell.carrier_index, (global, cell));
        }
        let cells: Vec<Cell> = self.cells.values().map(|(cell, _)| *cell).collect();
        output.update(&mut |state| {
            for cell in &cells {
                state.cells.entry(*cell).or_default();
            }
        });
    }

    fn forget_cells(&mut self, shared: &mut Shared, output: &dyn Output) {
        shared.cells.retain(|_, scope| *scope != self.scope);
        let cells = std::mem::take(&mut self.cells);
        output.update(&mut |state| {
            for (cell, _) in cells.values() {
                state.cells.remove(cell);
            }
        });
    }

    /// The connection is lost.
    pub fn lose(&mut self, shared: &mut Shared, output: &dyn Output) {
        self.forget_cells(shared, output);
        shared.ues.lose(self.scope, output);
    }

    fn cell(&self, carrier: u32) -> Option<Cell> {
        self.cells.get(&carrier).or_else(|| self.cells.first_key_value().map(|(_, of)| of)).map(|(cell, _)| *cell)
    }

    /// A UE by its configuration. Returns its key.
    fn see(&mut self, ue: &UeConfig, at: Moment, shared: &mut Shared, output: &dyn Output) -> Option<String> {
        let cell = self.cell(ue.primary_carrier)?;
        let rnti = format!("rnti:{:#06x}@{}", ue.rnti, cell.digits());
        // fifteen digits; without IMSI the UE has its name in the cell
        let imsi = ue.imsi.filter(|imsi| *imsi > 0).map(|imsi| format!("imsi:{imsi:015}"));
        let key = imsi.clone().unwrap_or_else(|| rnti.clone());
        let former = self.ues.get(&ue.rnti).map(|known| known.key.clone()).filter(|former| *former != key);
        if let Some(former) = former {
            shared.ues.rename(&former, &key, output);
        }
        let before = shared.ues.cell(&key);
        let names = imsi.into_iter().chain([rnti]).collect();
        shared.ues.see(&key, Identity { names, ..Identity::default() }, self.scope, Some(cell), output);
        if let Some(before) = before {
            shared.ues.change_cell(&key, at, before, cell, output);
        }
        let secondary = ue.secondary_cells.iter().filter_map(|cell| Some(self.cells.get(&cell.carrier_index)?.0));
        let secondary = secondary.filter(|secondary| *secondary != cell).collect();
        shared.ues.aggregate(&key, at, secondary, &[], output);
        let known = self.ues.entry(ue.rnti).or_insert_with(|| KnownUe {
            key: key.clone(),
            carrier: ue.primary_carrier,
            events: MeasurementEvents::default(),
            is_gbr: false,
            counted: None,
        });
        let events = ue.measurements.as_ref().and_then(|info| info.events).unwrap_or_default();
        (known.key, known.carrier, known.events) = (key.clone(), ue.primary_carrier, events);
        Some(key)
    }

    fn leave(&mut self, rnti: u32, at: Moment, shared: &mut Shared) {
        if let Some(ue) = self.ues.remove(&rnti) {
            let cell = self.cell(ue.carrier);
            shared.ues.leave(&ue.key, at, cell);
        }
    }

    fn report_channels(&mut self, channels: &UeChannels, at: Moment, shared: &mut Shared, output: &dyn Output) {
        let Some(ue) = self.ues.get_mut(&channels.rnti) else { return };
        let data = channels.channels.iter().filter(|channel| (FIRST_LCID..32).contains(&channel.lcid));
        let reports: Vec<BearerReport> = data
            .clone()
            .map(|channel| {
                let qci = channel.qci.and_then(|qci| u8::try_from(qci.checked_add(1)?).ok());
                let qos = qci.map(|qci| BearerQos { qci, rates_bps: is_gbr(channel).then(|| rates_bps(channel)) });
                let id = (channel.lcid - FIRST_LCID + FIRST_E_RAB) as u8;
                BearerReport { id, state: BearerState { qos, tunnel: None }, slice: None }
            })
            .collect();
        ue.is_gbr = data.clone().any(is_gbr);
        shared.ues.report_bearers(&ue.key, at, &reports, true, output);
    }

    fn report_statistics(&mut self, ues: &[UeStatistics], at: Moment, shared: &mut Shared, output: &dyn Output) {
        let mut prbs = [0_u64; 2];
        for reported in ues {
            let Some(ue) = self.ues.get_mut(&reported.rnti) else { continue };
            let (key, events, carrier) = (ue.key.clone(), ue.events, ue.carrier);
            if let Some(mac) = &reported.mac
                && let Some(before) = ue.counted.replace(mac.clone())
            {
                // the counters wrap around
                let kbit = |now: u32, before: u32| now.wrapping_sub(before) / 125;
                let dl = kbit(mac.sdu_octets_dl, before.sdu_octets_dl);
                let ul = kbit(mac.sdu_octets_ul, before.sdu_octets_ul);
                prbs[0] += u64::from(mac.prbs_dl.wrapping_sub(before.prbs_dl));
                prbs[1] += u64::from(mac.prbs_ul.wrapping_sub(before.prbs_ul));
                let is_gbr = ue.is_gbr;
                let set = |measured: &mut crate::state::UeMeasurements| {
                    let volume = if is_gbr { &mut measured.gbr_volume_kbit } else { &mut measured.non_gbr_volume_kbit };
                    (volume.dl, volume.ul) = (Some(dl), Some(ul));
                };
                shared.ues.measure(&key, set, output);
            }
            let tunnels: Vec<BearerReport> = reported.tunnels.iter().filter_map(tunnel).collect();
            shared.ues.report_bearers(&key, at, &tunnels, false, output);
            if let (Some(measured), Some(cell)) = (&reported.measurements, self.cell(carrier)) {
                report_measurements(&key, measured, events, cell, at, shared, output);
            }
        }
        self.report_usage(prbs, at, output);
    }

    /// The usage of a cell: the resource blocks of its UEs, of those of the subframes since the last report.
    fn report_usage(&mut self, [dl, ul]: [u64; 2], at: Moment, output: &dyn Output) {
        let before = self.counted_ns.replace(at.received_ns);
        // with several carriers the counters of a UE do not say which of them it uses
        let (Some(before), [(cell, config)]) = (before, &*self.cells.values().collect::<Vec<_>>()) else { return };
        let subframes = at.received_ns.saturating_sub(before) / 1_000_000;
        let percent = |used: u64, prbs: u32| {
            let available = subframes * u64::from(prbs);
            (100 * used).checked_div(available).map(|percent| percent.min(100) as u32)
        };
        let (dl, ul) = (percent(dl, config.dl_prbs), percent(ul, config.ul_prbs));
        output.update(&mut |state| {
            let total = &mut state.cells.entry(*cell).or_default().total_prb_percent;
            (total.dl, total.ul) = (dl.or(total.dl), ul.or(total.ul));
        });
    }
}

fn is_gbr(channel: &LogicalChannel) -> bool {
    channel.bearer_type == Some(1)
}

/// Maximum downlink and uplink, guaranteed downlink and uplink bit rates, in bit/s.
fn rates_bps(of: &LogicalChannel) -> [u64; 4] {
    [of.max_dl_bps, of.max_ul_bps, of.guaranteed_dl_bps, of.guaranteed_ul_bps].map(Option::unwrap_or_default)
}

fn plmn(of: &PlmnId) -> Option<PlmnIdentity> {
    let width = if of.mnc_digits == 3 { 3 } else { 2 };
    if of.mcc > 999 || of.mnc > if width == 3 { 999 } else { 99 } {
        return None;
    }
    format!("{:03}{:0width$}", of.mcc, of.mnc).parse().ok()
}

fn tunnel(of: &GtpStatistics) -> Option<BearerReport> {
    let id = u8::try_from(of.e_rab_id).ok().filter(|id| *id <= 15)?;
    let end = |address: &str, teid: u32| {
        // what is no address is left out
        let address = address.parse::<std::net::IpAddr>().map_or_else(|_| String::new(), |address| address.to_string());
        Tunnel { address, teid: format!("{teid:08x}") }
    };
    let tunnel = (end(&of.address_enb, of.teid_enb), end(&of.address_sgw, of.teid_sgw));
    Some(BearerReport { id, state: BearerState { qos: None, tunnel: Some(tunnel) }, slice: None })
}

/// Publishes what a UE measures, with the neighbours whose cells are known.
fn report_measurements(
    key: &str,
    measured: &RrcMeasurements,
    events: MeasurementEvents,
    cell: Cell,
    at: Moment,
    shared: &Shared,
    output: &dyn Output,
) {
    let serving = quantities(measured.rsrp, measured.rsrq);
    if serving.rsrp.is_none() || serving.rsrq.is_none() {
        return;
    }
    let neighbours = measured.neighbours.iter().flat_map(|of| &of.eutra).filter_map(|neighbour| {
        let signal = neighbour.signal.as_ref();
        let quantities = quantities(signal.and_then(|of| of.rsrp), signal.and_then(|of| of.rsrq));
        Some(CellMeasurement { cell: neighbour_cell(neighbour, shared)?, quantities })
    });
    let (neighbours, trigger) = (neighbours.collect(), trigger(measured.meas_id, events));
    let change = Change::Measured { trigger, serving, neighbours, nr_neighbours: Vec::new() };
    shared.ues.publish(key, at, cell, change, output);
}

fn neighbour_cell(neighbour: &Neighbour, shared: &Shared) -> Option<Cell> {
    let global = neighbour.cgi.as_ref().and_then(|cgi| cgi.cell.as_ref());
    let global = global.and_then(|cell| cell.plmn.as_ref()?.0.parse().ok().zip(cell.cell_id));
    global.map(|(plmn, id)| Cell::eutra(plmn, id)).or_else(|| shared.find(neighbour.pci?))
}

/// Reported values. Agents send dBm and dB, which are negative; a value that is not is a reported value already.
fn quantities(rsrp: Option<i32>, rsrq: Option<i32>) -> Quantities {
    let value = |value: i32, of: fn(f64) -> u8, max: u8| {
        if value < 0 { of(value.into()) } else { u8::try_from(value).unwrap_or(max).min(max) }
    };
    Quantities {
        rsrp: rsrp.map(|rsrp| value(rsrp, eutra_rsrp, 97)),
        rsrq: rsrq.map(|rsrq| value(rsrq, eutra_rsrq, 34)),
        sinr: None,
    }
}

/// Why a UE reports (MEC 012 6.5.11): the only measurement that is configured; of several the one of the measurement identity, which
/// OpenAirInterface numbers in the order of the events.
fn trigger(meas_id: i32, MeasurementEvents(events): MeasurementEvents) -> u8 {
    // periodical, and A1 to A5
    const TRIGGERS: [u8; 6] = [1, 10, 11, 12, 13, 14];
    let number = match (events.count_ones(), meas_id) {
        (1, _) => events.trailing_zeros() as usize,
        (_, 1..=6) if events >> meas_id & 1 == 1 => meas_id as usize,
        _ => return 0,
    };
    number.checked_sub(1).and_then(|at| TRIGGERS.get(at)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_those_of_configured_events() {
        let trigger = |meas_id, events| trigger(meas_id, MeasurementEvents(events));
        assert_eq!([trigger(4, 0), trigger(4, 1 << 4), trigger(9, 1 << 1)], [0, 12, 1]);
        let all = 0b111_1110;
        assert_eq!((1..=7).map(|id| trigger(id, all)).collect::<Vec<_>>(), [1, 10, 11, 12, 13, 14, 0]);
        assert_eq!(trigger(2, 0b1010), 0, "not configured");
    }

    #[test]
    fn quantities_are_values_of_reports() {
        let both = |rsrp, rsrq| {
            let Quantities { rsrp, rsrq, .. } = quantities(Some(rsrp), Some(rsrq));
            (rsrp.unwrap(), rsrq.unwrap())
        };
        assert_eq!(
            [both(-90, -10), both(60, 20), both(200, 99), both(-200, -50)],
            [(51, 20), (60, 20), (97, 34), (0, 0)]
        );
    }

    #[test]
    fn networks_have_two_or_three_digits() {
        let digits = |mcc, mnc, mnc_digits| plmn(&PlmnId { mcc, mnc, mnc_digits }).map(|plmn| plmn.to_string());
        assert_eq!(digits(1, 1, 2).as_deref(), Some("00101"));
        assert_eq!(digits(310, 410, 3).as_deref(), Some("310410"));
        assert_eq!(digits(1, 1, 3).as_deref(), Some("001001"));
        assert_eq!([digits(4000, 1, 2), digits(1, 100, 2)], [None, None]);
    }
}
