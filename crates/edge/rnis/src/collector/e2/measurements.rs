//! Why UEs send measurement reports: what their base stations have configured for each measurement identity.

use std::collections::{BTreeMap, HashMap};

use ap::nr_rrc::{MeasurementChanges, ReportKind};

use super::interfaces::remember;

/// The trigger of reports whose cause is unknown (MEC 012 6.5.11 and 6.5.12).
pub(super) const NOT_AVAILABLE: u8 = 0;
/// The most UEs whose configurations are known. Beyond it all are forgotten.
const MAX_UES: usize = 65_536;

/// The measurements of UEs by measurement identity, as far as their configuration was seen.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    ues: HashMap<String, OfUe>,
}

/// The measurements of a UE.
#[derive(Debug, Default)]
struct OfUe {
    /// By reportConfigId.
    reports: BTreeMap<u8, ReportKind>,
    /// By measId: reportConfigId.
    ids: BTreeMap<u8, u8>,
}

impl Measurements {
    /// Applies a message to a UE.
    pub fn apply(&mut self, key: &str, changes: &MeasurementChanges) {
        let mut ue = self.ues.remove(key).unwrap_or_default();
        ue.reports.retain(|id, _| !changes.removed_reports.contains(id));
        ue.reports.extend(changes.reports.iter().copied());
        // a measurement identity goes with its report (TS 38.331 5.5.2.6)
        ue.ids.retain(|id, report| !changes.removed.contains(id) && !changes.removed_reports.contains(report));
        ue.ids.extend(changes.added.iter().copied());
        remember(&mut self.ues, key, ue, MAX_UES);
    }

    /// A UE has another key now.
    pub fn rename(&mut self, former: &str, key: &str) {
        if let Some(ue) = self.ues.remove(former) {
            self.ues.insert(key.to_owned(), ue);
        }
    }

    /// What triggers the reports of a measurement identity; `None` if the configuration is unknown.
    pub fn kind(&self, key: &str, meas_id: u8) -> Option<ReportKind> {
        let ue = self.ues.get(key)?;
        ue.reports.get(ue.ids.get(&meas_id)?).copied()
    }
}

/// The Trigger of a report of a UE of E-UTRA (MEC 012 6.5.11).
pub(super) fn eutra_trigger(kind: ReportKind) -> u8 {
    match kind {
        ReportKind::Periodical | ReportKind::InterRatPeriodical => 1,
        ReportKind::PeriodicalForSon => 2,
        ReportKind::Cgi | ReportKind::InterRatCgi => 3,
        ReportKind::EventA(number) => 9 + number,
        ReportKind::EventB(number) => 19 + number,
        ReportKind::Other => NOT_AVAILABLE,
    }
}

/// The TriggerNr of a report of a UE of NR (MEC 012 6.5.12).
pub(super) fn nr_trigger(kind: ReportKind) -> u8 {
    match kind {
        ReportKind::Periodical => 1,
        ReportKind::Cgi => 2,
        ReportKind::EventA(number) => 9 + number,
        ReportKind::InterRatPeriodical => 20,
        ReportKind::InterRatCgi => 21,
        ReportKind::EventB(number) => 29 + number,
        ReportKind::PeriodicalForSon | ReportKind::Other => NOT_AVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_follow_their_configuration() {
        let mut measurements = Measurements::default();
        let a3_and_periodic = MeasurementChanges {
            reports: vec![(7, ReportKind::EventA(3)), (8, ReportKind::Periodical)],
            added: vec![(1, 7), (2, 8)],
            ..MeasurementChanges::default()
        };
        measurements.apply("amf:1", &a3_and_periodic);
        let kinds = |measurements: &Measurements| [1, 2, 3].map(|id| measurements.kind("amf:1", id));
        assert_eq!(kinds(&measurements), [Some(ReportKind::EventA(3)), Some(ReportKind::Periodical), None]);
        assert_eq!(measurements.kind("amf:2", 1), None, "another UE");
        // a report that is configured before is used by another identity, and one is changed
        let changes = MeasurementChanges {
            reports: vec![(7, ReportKind::EventB(1))],
            removed: vec![2],
            added: vec![(3, 8)],
            ..MeasurementChanges::default()
        };
        measurements.apply("amf:1", &changes);
        assert_eq!(kinds(&measurements), [Some(ReportKind::EventB(1)), None, Some(ReportKind::Periodical)]);
        measurements.rename("amf:1", "imsi:1");
        assert_eq!(
            (measurements.kind("amf:1", 1), measurements.kind("imsi:1", 3)),
            (None, Some(ReportKind::Periodical))
        );
        let removed = MeasurementChanges { removed_reports: vec![8], ..MeasurementChanges::default() };
        measurements.apply("imsi:1", &removed);
        assert_eq!([1, 3].map(|id| measurements.kind("imsi:1", id)), [Some(ReportKind::EventB(1)), None]);
    }

    #[test]
    fn triggers_are_those_of_mec_012() {
        let events = [1, 6].map(ReportKind::EventA).into_iter().chain([1, 2].map(ReportKind::EventB));
        let others = [ReportKind::Periodical, ReportKind::PeriodicalForSon, ReportKind::Cgi, ReportKind::Other];
        let kinds: Vec<_> = events.chain(others).collect();
        assert_eq!(kinds.iter().map(|kind| eutra_trigger(*kind)).collect::<Vec<_>>(), [10, 15, 20, 21, 1, 2, 3, 0]);
        assert_eq!(kinds.iter().map(|kind| nr_trigger(*kind)).collect::<Vec<_>>(), [10, 15, 30, 31, 1, 0, 2, 0]);
        assert_eq!([ReportKind::InterRatPeriodical, ReportKind::InterRatCgi].map(nr_trigger), [20, 21]);
    }
}
