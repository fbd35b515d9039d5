//! The UEs that a collector sees, and what their changes mean: events, and the state that queries read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::Output;
use crate::directory::Directory;
use crate::event::{Bearer, BearerEvent, CellMeasurement, Change, Event, HandoverStatus, S1Bearer, Tunnel, UeIds};
use crate::faults::Faults;
use crate::identity::{AssociateId, Cell, Slice, TempUeId};
use crate::state::{BearerState, UeMeasurements, UeState};

/// The most UEs; further ones are ignored.
const MAX_UES: usize = 65_536;
/// The most bearers of a UE; further ones are ignored.
const MAX_BEARERS: usize = 64;
/// How long a UE that has left a cell may need to appear in another one: during a handover, or while it re-establishes its connection.
/// Then it is removed, and its bearers are released.
const GRACE: Duration = Duration::from_secs(3);

/// The node or connection that has reported a UE: with it, its UEs are lost.
pub(super) type Scope = u64;

/// What identifies a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Identity {
    /// The names that the directory may have for it.
    pub names: Vec<String>,
    /// The addresses that the RAN knows.
    pub addresses: Vec<IpAddr>,
    /// A temporary identity, if the directory has none.
    pub temporary: Option<TempUeId>,
}

/// What a report says of a bearer. What it leaves out stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BearerReport {
    pub id: u8,
    pub state: BearerState,
    /// The slice of its session.
    pub slice: Option<Slice>,
}

/// The moment of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// In nanoseconds of Unix time.
    pub received_ns: u64,
    pub now: Instant,
}

impl Moment {
    pub fn now() -> Self {
        Moment { received_ns: super::unix_ns(), now: Instant::now() }
    }
}

#[derive(Debug)]
struct Record {
    identity: Identity,
    scope: Scope,
    state: UeState,
    /// The slices of its bearers, as far as they are reported.
    slices: BTreeMap<u8, Slice>,
    /// Whether its arrival was reported: then bearers that appear are new. Otherwise the first ones existed before.
    has_arrived: bool,
    /// The bearers whose establishment was published, or which existed before.
    established: BTreeSet<u8>,
    timing_advance: Option<u32>,
    secondary: BTreeSet<Cell>,
    /// Its secondary cells by sCellIndex, where its base station reports their configuration.
    configured: BTreeMap<u8, Cell>,
    /// When it is removed, after it has left its cell.
    removed_at: Option<Instant>,
}

/// The UEs by a key that the collector chooses.
#[derive(Debug)]
pub(super) struct Ues {
    directory: Arc<Directory>,
    records: HashMap<String, Record>,
    /// The keys of UEs that have left their cells.
    leaving: BTreeSet<(Instant, String)>,
    ignored: Faults,
}

impl Ues {
    pub fn new(directory: Arc<Directory>) -> Self {
        Ues { directory, records: HashMap::new(), leaving: BTreeSet::new(), ignored: Faults::default() }
    }

    /// Records that a node serves a UE, in a cell if that is known. Returns whether it was known before.
    pub fn see(
        &mut self,
        key: &str,
        identity: Identity,
        scope: Scope,
        cell: Option<Cell>,
        output: &dyn Output,
    ) -> bool {
        if let Some(record) = self.records.get_mut(key) {
            if let Some(at) = record.removed_at.take() {
                self.leaving.remove(&(at, key.to_owned()));
            }
            let is_same = record.identity.names == identity.names && record.identity.addresses == identity.addresses;
            let follows_move = cell.is_some() && cell != record.state.cell;
            record.scope = scope;
            if !is_same || follows_move {
                record.state.cell = cell.or(record.state.cell);
                // a report of a part of a base station may have fewer names
                let names = std::mem::take(&mut record.identity.names);
                record.identity = identity;
                let kept: Vec<_> = names.into_iter().filter(|name| !record.identity.names.contains(name)).collect();
                record.identity.names.extend(kept.into_iter().filter(|name| !name.starts_with("rnti:")));
                self.write(key, output);
            }
            return true;
        }
        if self.records.len() >= MAX_UES {
            if let Some(ignored) = self.ignored.count() {
                warn!(
                    ignored,
                    "a UE is ignored: {MAX_UES} UEs are known, the limit; use several instances of the service"
                );
            }
            return false;
        }
        let record = Record {
            identity,
            scope,
            state: UeState { cell, ..UeState::default() },
            slices: BTreeMap::new(),
            has_arrived: false,
            established: BTreeSet::new(),
            timing_advance: None,
            secondary: BTreeSet::new(),
            configured: BTreeMap::new(),
            removed_at: None,
        };
        self.records.insert(key.to_owned(), record);
        self.write(key, output);
        false
    }

    /// Records that a UE has attached: bearers that appear from now on are new.
    pub fn arrive(&mut self, key: &str) {
        if let Some(record) = self.records.get_mut(key) {
            record.has_arrived = true;
        }
    }

    /// The key of a UE has changed, because a better name is known.
    pub fn rename(&mut self, old: &str, new: &str, output: &dyn Output) {
        let Some(record) = self.records.remove(old) else { return };
        if let Some(at) = record.removed_at {
            self.leaving.remove(&(at, old.to_owned()));
        }
        output.update(&mut |state| drop(state.ues.remove(old)));
        if !self.records.contains_key(new) {
            self.records.insert(new.to_owned(), Record { removed_at: None, ..record });
            self.write(new, output);
        }
    }

    /// The cell of a UE.
    pub fn cell(&self, key: &str) -> Option<Cell> {
        self.records.get(key)?.state.cell
    }

    /// The bearers of a UE.
    pub fn bearers(&self, key: &str) -> Option<&BTreeMap<u8, BearerState>> {
        self.records.get(key).map(|record| &record.state.bearers)
    }

    /// Publishes an event of a UE, in a cell.
    pub fn publish(&self, key: &str, at: Moment, cell: Cell, change: Change, output: &dyn Output) {
        let ue = self.records.get(key).map_or_else(UeIds::default, |record| record.state.ids.clone());
        output.publish(Event { received_ns: at.received_ns, cell, ue, change });
    }

    /// Publishes an event of a UE in its cell, if that is known.
    fn publish_here(&self, key: &str, at: Moment, change: Change, output: &dyn Output) {
        if let Some(cell) = self.cell(key) {
            self.publish(key, at, cell, change, output);
        }
    }

    /// A UE has changed its cell. A re-establishment in the same cell is no change.
    pub fn change_cell(&mut self, key: &str, at: Moment, from: Cell, to: Cell, output: &dyn Output) {
        if from != to {
            let change = Change::CellChange { targets: vec![to], status: HandoverStatus::Completed };
            self.publish(key, at, from, change, output);
            // the target configures its own (TS 36.331 5.3.5.4 and 5.3.7.2)
            if self.records.get_mut(key).is_some_and(|record| !std::mem::take(&mut record.configured).is_empty()) {
                self.aggregate(key, at, BTreeSet::new(), &[], output);
            }
        }
    }

    /// A UE has left a cell. It is removed after a while, unless it appears again.
    pub fn leave(&mut self, key: &str, at: Moment, cell: Option<Cell>) {
        let Some(record) = self.records.get_mut(key) else { return };
        // the target of a handover may report it first
        if record.removed_at.is_none() && (cell.is_none() || record.state.cell == cell) {
            let removed_at = at.now + GRACE;
            record.removed_at = Some(removed_at);
            self.leaving.insert((removed_at, key.to_owned()));
        }
    }

    /// Removes the UEs that have left and did not appear again.
    pub fn expire(&mut self, at: Moment, output: &dyn Output) {
        while self.leaving.first().is_some_and(|(removed_at, _)| *removed_at <= at.now) {
            if let Some((_, key)) = self.leaving.pop_first() {
                self.release(&key, at, output);
            }
        }
    }

    /// Removes a UE at once: its bearers are released.
    pub fn release(&mut self, key: &str, at: Moment, output: &dyn Output) {
        let bearers: Vec<u8> = self.bearers(key).into_iter().flat_map(BTreeMap::keys).copied().collect();
        self.release_bearers(key, at, &bearers, output);
        self.forget(key, output);
    }

    /// Removes the UEs of a node or connection that is lost. What has become of them is unknown, so no bearer is released.
    pub fn lose(&mut self, scope: Scope, output: &dyn Output) {
        let keys: Vec<String> =
            self.records.iter().filter(|(_, record)| record.scope == scope).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.forget(key, output));
    }

    fn forget(&mut self, key: &str, output: &dyn Output) {
        let Some(record) = self.records.remove(key) else { return };
        if let Some(at) = record.removed_at {
            self.leaving.remove(&(at, key.to_owned()));
        }
        output.update(&mut |state| drop(state.ues.remove(key)));
    }

    /// Records bearers of a UE. With `is_complete` the report has all of them, so that others are released.
    pub fn report_bearers(
        &mut self,
        key: &str,
        at: Moment,
        reports: &[BearerReport],
        is_complete: bool,
        output: &dyn Output,
    ) {
        if is_complete {
            let has = |id: &u8| reports.iter().any(|report| report.id == *id);
            let gone: Vec<u8> =
                self.bearers(key).into_iter().flat_map(BTreeMap::keys).copied().filter(|id| !has(id)).collect();
            self.release_bearers(key, at, &gone, output);
        }
        let Some(record) = self.records.get_mut(key) else { return };
        // those of a UE that was there before the collector have existed before, too
        let are_new = record.has_arrived || !record.state.bearers.is_empty();
        let (mut changes, mut tunnels) = (Vec::new(), BTreeMap::<_, Vec<S1Bearer>>::new());
        let mut is_changed = false;
        for BearerReport { id, state, slice } in reports {
            if !record.state.bearers.contains_key(id) && record.state.bearers.len() >= MAX_BEARERS {
                continue;
            }
            let is_first = !record.state.bearers.contains_key(id);
            let known = record.state.bearers.entry(*id).or_default();
            let before = known.clone();
            known.qos = state.qos.or(known.qos);
            known.tunnel =
                state.tunnel.clone().map(|tunnel| completed(tunnel, known.tunnel.as_ref())).or(known.tunnel.take());
            is_changed |= is_first || before != *known;
            if let Some(slice) = slice {
                is_changed |= record.slices.insert(*id, *slice) != Some(*slice);
            }
            let bearer = Bearer { erab_id: *id, qos: known.qos };
            if is_first && !are_new {
                record.established.insert(*id);
            } else if known.qos.is_some() && record.established.insert(*id) {
                // without its QoS, no subscription could match it
                changes.push(Change::BearerEstablished(bearer));
            } else if before.qos.is_some() && before.qos != known.qos {
                changes.push(Change::BearerModified(bearer));
            }
            let Some((base_station, gateway)) = &known.tunnel else { continue };
            let event = match &before.tunnel {
                None if are_new => BearerEvent::Established,
                Some(tunnel) if Some(tunnel) != known.tunnel.as_ref() => BearerEvent::Modified,
                _ => continue,
            };
            let tunnel = S1Bearer { erab_id: *id, base_station: base_station.clone(), gateway: gateway.clone() };
            tunnels.entry(event as u8).or_default().push(tunnel);
        }
        if is_changed {
            self.write(key, output);
        }
        for change in changes {
            self.publish_here(key, at, change, output);
        }
        for (event, bearers) in tunnels {
            let is_new = event == BearerEvent::Established as u8;
            let event = if is_new { BearerEvent::Established } else { BearerEvent::Modified };
            self.publish_here(key, at, Change::S1Bearer { event, bearers }, output);
        }
    }

    /// Bearers of a UE are released.
    pub fn release_bearers(&mut self, key: &str, at: Moment, ids: &[u8], output: &dyn Output) {
        let Some(record) = self.records.get_mut(key) else { return };
        let (mut changes, mut tunnels) = (Vec::new(), Vec::new());
        for id in ids {
            let Some(bearer) = record.state.bearers.remove(id) else { continue };
            record.established.remove(id);
            changes.push(Change::BearerReleased(Bearer { erab_id: *id, qos: bearer.qos }));
            if let Some((base_station, gateway)) = bearer.tunnel {
                tunnels.push(S1Bearer { erab_id: *id, base_station, gateway });
            }
        }
        if !tunnels.is_empty() {
            changes.push(Change::S1Bearer { event: BearerEvent::Released, bearers: tunnels });
        }
        if changes.is_empty() {
            return;
        }
        // the identities by the tunnels, and the slices, are those of the event, too
        for change in changes {
            self.publish_here(key, at, change, output);
        }
        if let Some(record) = self.records.get_mut(key) {
            record.slices.retain(|id, _| !ids.contains(id));
        }
        self.write(key, output);
    }

    /// Publishes the timing advance of a UE, if it has changed: N_TA in units of 16 T_s.
    pub fn advance_timing(&mut self, key: &str, at: Moment, value: u32, output: &dyn Output) {
        let Some(record) = self.records.get_mut(key) else { return };
        if record.timing_advance.replace(value) != Some(value) {
            self.publish_here(key, at, Change::TimingAdvance { value }, output);
        }
    }

    /// Follows a reconfiguration of the secondary cells of a UE, which releases some by sCellIndex, then adds others.
    pub fn reconfigure(
        &mut self,
        key: &str,
        at: Moment,
        released: &[u8],
        added: impl Iterator<Item = (u8, Option<Cell>)>,
        output: &dyn Output,
    ) {
        let Some(record) = self.records.get_mut(key) else { return };
        let configured = &mut record.configured;
        configured.retain(|index, _| !released.contains(index));
        for (index, cell) in added {
            match cell {
                Some(cell) => configured.insert(index, cell),
                None => configured.remove(&index),
            };
        }
        let cells = configured.values().copied().collect();
        self.aggregate(key, at, cells, &[], output);
    }

    /// Publishes the change of the secondary cells of a UE, if there is one, with what it measures of them.
    pub fn aggregate(
        &mut self,
        key: &str,
        at: Moment,
        cells: BTreeSet<Cell>,
        measured: &[(CellMeasurement, Option<CellMeasurement>)],
        output: &dyn Output,
    ) {
        let Some(record) = self.records.get_mut(key) else { return };
        let before = std::mem::replace(&mut record.secondary, cells);
        let added: Vec<_> = record.secondary.difference(&before).copied().collect();
        let removed: Vec<_> = before.difference(&record.secondary).copied().collect();
        if !added.is_empty() || !removed.is_empty() {
            self.publish_here(
                key,
                at,
                Change::CarrierAggregation { added, removed, measured: measured.to_vec() },
                output,
            );
        }
    }

    /// Changes the latest measurements of a UE.
    pub fn measure(&mut self, key: &str, change: impl FnOnce(&mut UeMeasurements), output: &dyn Output) {
        let Some(record) = self.records.get_mut(key) else { return };
        change(&mut record.state.measurements);
        let measurements = record.state.measurements;
        output.update(&mut |state| {
            if let Some(ue) = state.ues.get_mut(key) {
                ue.measurements = measurements;
            }
        });
    }

    /// Writes the state of a UE, with its identities.
    fn write(&mut self, key: &str, output: &dyn Output) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.state.ids = ids(record, &self.directory);
        let ue = &record.state;
        output.update(&mut |state| {
            state.ues.insert(key.to_owned(), ue.clone());
        });
    }

    /// Looks all UEs up in the directory again.
    pub fn resolve_again(&mut self, output: &dyn Output) {
        let keys: Vec<String> = self.records.keys().cloned().collect();
        keys.iter().for_each(|key| self.write(key, output));
    }
}

/// A tunnel with what an earlier report knows of it: statistics have no addresses, and some no TEID of the gateway.
fn completed(tunnel: (Tunnel, Tunnel), known: Option<&(Tunnel, Tunnel)>) -> (Tunnel, Tunnel) {
    let Some(known) = known else { return tunnel };
    let complete = |new: Tunnel, old: &Tunnel| {
        let is_same = new.teid.is_empty() || new.teid == old.teid;
        let keep = |new: String, old: &String| if new.is_empty() && is_same { old.clone() } else { new };
        Tunnel { address: keep(new.address, &old.address), teid: keep(new.teid, &old.teid) }
    };
    (complete(tunnel.0, &known.0), complete(tunnel.1, &known.1))
}

/// The identities of a UE: those that the RAN knows, and those of the directory.
fn ids(record: &Record, directory: &Directory) -> UeIds {
    let mut associate_ids: Vec<AssociateId> =
        record.identity.addresses.iter().map(|address| AssociateId::ip(*address)).collect();
    let teids = record.state.bearers.values().filter_map(|bearer| bearer.tunnel.as_ref());
    let teids = teids.flat_map(|(base_station, gateway)| [&base_station.teid, &gateway.teid]);
    for teid in teids.filter_map(|digits| u32::from_str_radix(digits, 16).ok()) {
        let id = AssociateId::teid(teid);
        if !associate_ids.contains(&id) {
            associate_ids.push(id);
        }
    }
    let mut temporary = record.identity.temporary.clone();
    let names = record.identity.names.iter().map(String::as_str);
    directory.resolve(names, &mut associate_ids, &mut temporary);
    let slices: BTreeSet<Slice> = record.slices.values().copied().collect();
    UeIds { associate_ids, temporary, slices: slices.into_iter().collect() }
}

#[cfg(test)]
mod tests;
