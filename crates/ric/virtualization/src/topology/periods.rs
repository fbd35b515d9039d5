//! Collects the reports that the parts of a base station make of each period.

use std::collections::{BTreeMap, BTreeSet};

use super::offers::Ranked;

/// Collects the reports of a period. `R` is what a part reports.
#[derive(Debug)]
pub(super) struct Collector<R> {
    pending: Pending<R>,
    /// The parts that have not reported in the last period: they are not waited for.
    silent: BTreeSet<Ranked>,
}

impl<R> Default for Collector<R> {
    fn default() -> Self {
        Collector { pending: Pending::default(), silent: BTreeSet::new() }
    }
}

impl<R> Collector<R> {
    /// Adds the report of one of these parts. If it has already reported in this period, that ends it, and its reports are returned.
    pub fn add(
        &mut self,
        parts: impl Iterator<Item = Ranked>,
        part: Ranked,
        header: &[u8],
        report: R,
    ) -> Option<Pending<R>> {
        let before = self.pending.reports.contains_key(&part).then(|| self.take(parts));
        if self.pending.header.as_ref().is_none_or(|(of, _)| part < *of) {
            self.pending.header = Some((part, header.to_vec()));
        }
        self.pending.reports.insert(part, report);
        self.silent.remove(&part);
        before
    }

    /// Returns the reports of the period once none of these parts is waited for; `is_active` says which parts report.
    pub fn take_complete(
        &mut self,
        parts: impl Iterator<Item = Ranked> + Clone,
        is_active: impl Fn(Ranked) -> bool,
    ) -> Option<Pending<R>> {
        let reports = &self.pending.reports;
        let is_waited_for =
            |part: Ranked| is_active(part) && !self.silent.contains(&part) && !reports.contains_key(&part);
        let is_complete = !reports.is_empty() && !parts.clone().any(is_waited_for);
        is_complete.then(|| self.take(parts))
    }

    fn take(&mut self, parts: impl Iterator<Item = Ranked>) -> Pending<R> {
        let pending = std::mem::take(&mut self.pending);
        self.silent.extend(parts.filter(|part| !pending.reports.contains_key(part)));
        pending
    }
}

/// The reports of a period.
#[derive(Debug)]
pub(super) struct Pending<R> {
    /// That of the first part in order.
    pub header: Option<(Ranked, Vec<u8>)>,
    pub reports: BTreeMap<Ranked, R>,
}

impl<R> Default for Pending<R> {
    fn default() -> Self {
        Pending { header: None, reports: BTreeMap::new() }
    }
}
