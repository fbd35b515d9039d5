//! RICs that the RICs of a group name ([`RicList`]), beside those that the xApp was given.
//!
//! What a RIC says is believed as far as it can do no harm that it could not do anyway by the nodes that it announces: RICs that the
//! xApp was given always stay; others are connected to over the same kind of link, so that over TLS they present a certificate
//! that the xApp trusts, for the address that was named; and a group has at most [`MAX_RICS`].

use std::time::{Duration, Instant};

use e2::xapp::RicList;
use link::{Address, Interest};

use super::{
    Commands, GroupState, MAX_RICS, Member, SessionEvent, SessionState, Translator, Xapp, XappEvent, XappGroup,
};
use crate::Error;

/// The shortest time between two changes, which bounds what a RIC costs that names others all the time.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

/// The RICs that one of them has named at last.
#[derive(Debug, Default)]
pub(super) struct NamedRics {
    /// The address that it has for the others.
    own: Option<Address>,
    others: Vec<Address>,
    /// Whether that was no list, until it is logged.
    is_malformed: bool,
}

impl NamedRics {
    /// Reads a list; addresses that cannot be read are left out.
    pub fn read(document: &[u8]) -> Self {
        let Some(RicList { own, others }) = RicList::decode(document) else {
            return NamedRics { is_malformed: true, ..NamedRics::default() };
        };
        let others = others.iter().filter_map(|address| address.parse().ok()).collect();
        NamedRics { own: own.and_then(|own| own.parse().ok()), others, is_malformed: false }
    }
}

impl GroupState {
    /// Has lists followed soon: at once, but not again within the time.
    pub fn schedule_lists(&mut self) {
        let now = Instant::now();
        let earliest = self.lists_followed.map_or(now, |last| last + LIST_INTERVAL);
        self.follow_lists_at.get_or_insert(earliest.max(now));
    }
}

/// Whether links to both addresses have the same security.
fn is_same_kind(a: &Address, b: &Address) -> bool {
    matches!(
        (a, b),
        (Address::Tcp { .. }, Address::Tcp { .. })
            | (Address::Tls { .. }, Address::Tls { .. })
            | (Address::Sctp { .. }, Address::Sctp { .. })
    )
}

impl Member {
    /// Whether there is no RIC in this place any more.
    pub fn is_vacant(&self) -> bool {
        self.is_learned && self.xapp.is_none()
    }

    fn address(&self) -> Option<&Address> {
        self.xapp.as_ref().map(|xapp| xapp.address())
    }
}

impl XappGroup {
    /// Opens sessions with RICs that were named, and ends those with RICs that are not named any more.
    pub(super) fn follow_lists(
        &mut self,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let now = Instant::now();
        if self.state.follow_lists_at.take_if(|at| *at <= now).is_none() {
            return Ok(());
        }
        self.state.lists_followed = Some(now);
        for member in &mut self.members {
            if std::mem::take(&mut member.named.is_malformed) {
                tracing::warn!(ric = %member.address, "list of RICs ignored: it is malformed; is the RIC of another release?");
            }
        }
        for at in 0..self.members.len() {
            if self.members[at].is_learned && self.is_superfluous(at) {
                self.leave(at, handle);
            }
        }
        for (address, by) in self.unknown_rics() {
            self.join(&address, by)?;
        }
        Ok(())
    }

    /// Whether a RIC that was named is not needed: it is one of the others by another address, or has no session and is named by none.
    fn is_superfluous(&self, at: usize) -> bool {
        let Some(address) = self.members[at].address() else { return false };
        let others = || self.members.iter().enumerate().filter(|(other, member)| *other != at && !member.is_vacant());
        let is_own = |member: &Member| member.named.own.as_ref() == Some(address);
        if others().any(|(_, member)| member.is_open && !member.is_learned && is_own(member)) {
            return true;
        }
        !self.members[at].is_open && !others().any(|(_, member)| member.named.others.contains(address))
    }

    /// The RICs that were named and are none of the group yet, each with the RIC that has named it.
    fn unknown_rics(&self) -> Vec<(Address, usize)> {
        let members = || self.members.iter().filter(|member| !member.is_vacant());
        let is_known = |address: &Address| {
            members().any(|member| member.address() == Some(address) || member.named.own.as_ref() == Some(address))
        };
        let mut unknown: Vec<(Address, usize)> = Vec::new();
        for (by, member) in self.members.iter().enumerate() {
            let Some(at) = member.address() else { continue };
            for address in member.named.others.iter().filter(|address| is_same_kind(at, address)) {
                if !is_known(address) && !unknown.iter().any(|(other, _)| other == address) {
                    unknown.push((address.clone(), by));
                }
            }
        }
        unknown
    }

    /// Adds a RIC; the next poll connects.
    fn join(&mut self, address: &Address, by: usize) -> Result<(), Error> {
        let vacant = self.members.iter().position(Member::is_vacant);
        let at = vacant.unwrap_or(self.members.len());
        if at >= MAX_RICS {
            // once until lists change
            tracing::warn!(ric = %address, "RIC not used: a session has at most {MAX_RICS} RICs");
            return Ok(());
        }
        let mut xapp = Box::new(Xapp::unconnected(address, &self.name, self.config.clone())?);
        xapp.requests.state = SessionState::new(false);
        self.poll.add(&xapp.poll, at as u64, Interest::READ).map_err(Error::epoll)?;
        tracing::info!(ric = %address, by = %self.members[by].address, "RIC learned of another one: opening a session with it too");
        let mut member = Member::new(xapp, true);
        match self.members.get_mut(at) {
            Some(before) => {
                // numbers of questions of the sessions before are not used again
                member.session = before.session;
                *before = member;
                for known in self.state.known.values_mut() {
                    known.last.take_if(|last| *last == at);
                }
            }
            None => self.members.push(member),
        }
        Ok(())
    }

    /// Ends the session with a RIC.
    fn leave(&mut self, at: usize, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        let XappGroup { state, members, .. } = self;
        let Some(mut xapp) = members[at].xapp.take() else { return };
        tracing::info!(ric = %members[at].address, "RIC not used any more: no other one names it, or it is used by another address");
        xapp.lose(&mut |event, commands| {
            if let Some(own) = commands.queue() {
                let mut translator = Translator { state: &mut *state, members: &mut *members, at, own };
                translator.handle(SessionEvent::Event(event), handle);
            }
        });
        members[at].failure = None;
        members[at].named = NamedRics::default();
    }
}
