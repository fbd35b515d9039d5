//! The links of the xApps on one loop, and the reports that are dropped because an xApp reads slowly.

use e2::AssocId;
use e2::xapp::Envelope;
use link::Class;
use tracing::warn;

use super::Counters;
use super::indication_counts::IndicationCounter;
use super::log_limiter::LogLimiter;
use crate::peers::Peers;

pub(super) struct XappLinks {
    pub xapps: Peers,
    /// Links, of xApps or nodes, that failed and are to be removed.
    pub lost: Vec<(AssocId, link::Error)>,
    /// xApps with dropped reports that they were not informed about.
    slow: Vec<AssocId>,
    out: Vec<u8>,
}

impl XappLinks {
    pub fn new(xapps: Peers) -> Self {
        XappLinks { xapps, lost: Vec::new(), slow: Vec::new(), out: Vec::new() }
    }

    /// Puts a message that must not be dropped into an xApp's outbox.
    pub fn send(&mut self, xapp: AssocId, parts: &[&[u8]]) {
        if let Err(error) = self.xapps.send(xapp, parts, Class::Keep) {
            self.lost.push((xapp, error));
        }
    }

    /// Puts an enveloped indication into an xApp's outbox.
    #[inline]
    pub fn forward(
        &mut self,
        xapp: AssocId,
        parts: &[&[u8]],
        class: Class,
        counters: &mut Counters,
        counter: &mut IndicationCounter,
    ) {
        counters.deliveries += 1;
        match self.xapps.send(xapp, parts, class) {
            Ok(sent) if sent.dropped_reports == 0 => {}
            Ok(sent) => {
                counters.dropped_reports += u64::from(sent.dropped_reports);
                if let Some(peer) = self.xapps.get_mut(xapp) {
                    peer.link.take_dropped(&mut |beginning| {
                        if let Some(subscription) = Envelope::subscription_of(beginning) {
                            counter.count_dropped(subscription, 1);
                        }
                    });
                }
                self.is_slow(xapp);
            }
            Err(error) => self.lost.push((xapp, error)),
        }
    }

    /// Counts reports for an xApp that found no room between two loops.
    pub fn missed(&mut self, xapp: AssocId, reports: u64, counters: &mut Counters) {
        let Some(peer) = self.xapps.get_mut(xapp) else { return };
        peer.missed_reports += reports;
        counters.dropped_reports += reports;
        self.is_slow(xapp);
    }

    fn is_slow(&mut self, xapp: AssocId) {
        if let Some(peer) = self.xapps.get_mut(xapp)
            && !std::mem::replace(&mut peer.has_unreported_loss, true)
        {
            self.slow.push(xapp);
        }
    }

    /// Sends the number of dropped reports to each xApp with at most `room_octets` in its outbox. Returns whether
    /// there was one.
    pub fn notify_slow_readers(&mut self, room_octets: usize, log_limiter: &LogLimiter) -> bool {
        let XappLinks { slow, xapps, lost, out } = self;
        let before = slow.len();
        slow.retain(|assoc| {
            let Some(peer) = xapps.get_mut(*assoc) else { return false };
            if peer.link.queued_octets() > room_octets {
                return true;
            }
            let reports = peer.lost_reports();
            peer.has_unreported_loss = false;
            if log_limiter.allow_from(peer.link.peer()) {
                warn!(xapp = %peer.link.peer(), reports, "xApp reads too slowly: reports dropped");
            }
            out.clear();
            e2::xapp::RicMessage::Dropped { reports }.encode(out);
            if let Err(error) = xapps.send(*assoc, &[out], Class::Keep) {
                lost.push((*assoc, error));
            }
            out.clear();
            false
        });
        slow.len() < before
    }
}
