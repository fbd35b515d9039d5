//! The state behind all connections, without sockets and without a clock.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use link::Identity;

use crate::access::{Access, AccessList, Credential, Rights, namespace_of};
use crate::commands::{self, Call, Command};
use crate::glob;
use crate::hub::Hub;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::resp::{Replies, Request, Version};
use crate::scripts::Scripts;
use crate::store::Store;

/// Searches with SCAN whose next part may be asked for. Beyond it the oldest is forgotten.
const MAX_CURSORS: usize = 1024;
/// Commands of a transaction.
const MAX_QUEUED: usize = 4096;
/// What a command of a transaction takes beside its octets.
const QUEUED_OCTETS: usize = 64;

/// The store, subscriptions and rights.
#[derive(Debug)]
pub(crate) struct Engine {
    pub store: Store,
    pub hub: Hub,
    pub access: AccessList,
    pub limits: Limits,
    pub scripts: Scripts,
    /// Messages of the current round: a channel and octets.
    pub publications: Vec<(Vec<u8>, Vec<u8>)>,
    pub counts: Counts,
    /// Where searches go on.
    cursors: VecDeque<(u64, Vec<u8>)>,
    last_cursor: u64,
}

/// What has happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that are open.
    pub connections: usize,
    /// Connections that were admitted.
    pub admitted: u64,
    /// Connections that were refused because there were too many, of all hosts or of one.
    pub refused: u64,
    /// Commands, with those that were refused.
    pub commands: u64,
    /// Messages that were published.
    pub messages: u64,
    /// Subscribers that were disconnected because they did not read.
    pub slow_subscribers: u64,
    /// Connections that were closed because of what they sent.
    pub faults: u64,
}

/// What is known of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub number: u64,
    pub rights: Arc<Rights>,
    /// What it has them by.
    pub credential: Credential,
    /// The certificate that it has presented.
    pub identity: Option<Identity>,
    /// How often it has sent a token that is none.
    pub wrong_tokens: u32,
    pub version: Version,
    pub name: Vec<u8>,
    pub channels: BTreeSet<Vec<u8>>,
    pub patterns: BTreeSet<Vec<u8>>,
    pub transaction: Option<Transaction>,
    /// The client has asked for the end of the connection.
    pub is_closing: bool,
}

/// The commands that MULTI collects.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    queued: Vec<Vec<Vec<u8>>>,
    octets: usize,
    is_refused: bool,
}

/// What a reply depends on: a reply that depends on the store is replaced by an error if the round cannot be made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depends {
    Store,
    Connection,
}

impl Session {
    pub fn new(number: u64, rights: Arc<Rights>) -> Self {
        Session {
            number,
            rights,
            credential: Credential::Nothing,
            identity: None,
            wrong_tokens: 0,
            version: Version::V2,
            name: Vec::new(),
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            transaction: None,
            is_closing: false,
        }
    }

    /// Gives it the rights that it has without a token.
    pub fn identify(&mut self, access: &AccessList) {
        (self.credential, self.rights) = access.without_token(self.identity.as_ref());
    }

    pub fn has_subscriptions(&self) -> bool {
        !self.channels.is_empty() || !self.patterns.is_empty()
    }

    pub fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }
}

impl Engine {
    pub fn new(store: Store, access: AccessList, limits: Limits) -> Self {
        Engine {
            store,
            hub: Hub::default(),
            access,
            limits,
            scripts: Scripts::default(),
            publications: Vec::new(),
            counts: Counts::default(),
            cursors: VecDeque::new(),
            last_cursor: 0,
        }
    }

    /// Executes a request. The replies have at most `max_reply_octets`.
    pub fn execute(
        &mut self,
        session: &mut Session,
        request: Request<'_>,
        now_ms: u64,
        max_reply_octets: usize,
    ) -> (Vec<u8>, Depends) {
        self.counts.commands += 1;
        let admitted = self.admit(session, commands::find(request.get(0)), &request);
        let depends = match admitted {
            Ok(Some(command)) if command.is_of_store => Depends::Store,
            _ => Depends::Connection,
        };
        let result = admitted.and_then(|command| match command {
            Some(command) => self.run(session, command, request, now_ms, max_reply_octets),
            None => self.queue(session, &request),
        });
        let octets = result.unwrap_or_else(|refusal| {
            if let Some(transaction) = &mut session.transaction {
                transaction.is_refused = true;
            }
            error(&refusal)
        });
        (octets, depends)
    }

    /// Finds out whether a command is executed now; `None` if a transaction collects it.
    fn admit(
        &self,
        session: &Session,
        command: Option<&'static Command>,
        request: &Request<'_>,
    ) -> Result<Option<&'static Command>, Refusal> {
        let is_known = command.is_some_and(|command| command.is_without_rights);
        if session.rights.is_none() && !is_known {
            return Err(Refusal::NoAuth);
        }
        let command = command.ok_or_else(|| Refusal::Unknown(shown(request.get(0))))?;
        let count = i64::try_from(request.len()).unwrap_or(i64::MAX);
        let has_arity =
            if command.arity < 0 { count >= -i64::from(command.arity) } else { count == i64::from(command.arity) };
        if !has_arity {
            return Err(Refusal::Arity);
        }
        if session.version == Version::V2 && session.has_subscriptions() && !command.is_with_subscriptions {
            return Err(Refusal::Subscribed);
        }
        let is_now = session.transaction.is_none() || command.is_in_transaction;
        Ok(is_now.then_some(command))
    }

    /// Runs a command: all of it, or nothing where it is refused.
    fn run(
        &mut self,
        session: &mut Session,
        command: &'static Command,
        request: Request<'_>,
        now_ms: u64,
        max_reply_octets: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let (changes, publications) = (self.store.changes().len(), self.publications.len());
        let mut replies = Replies::new(session.version, max_reply_octets);
        let mut call = Call { engine: &mut *self, session: &mut *session, request, replies: &mut replies, now_ms };
        let result = (command.run)(&mut call);
        let (octets, is_exceeded) = replies.into_octets();
        let result = if is_exceeded { Err(Refusal::Reply) } else { result };
        if result.is_err() {
            self.store.revert_to(changes);
            self.publications.truncate(publications);
        }
        result.map(|()| octets)
    }

    fn queue(&mut self, session: &mut Session, request: &Request<'_>) -> Result<Vec<u8>, Refusal> {
        let Some(transaction) = &mut session.transaction else { return Err(Refusal::Syntax) };
        let more = request.octets() + QUEUED_OCTETS * (1 + request.len());
        if transaction.octets + more > self.limits.max_request_octets || transaction.queued.len() == MAX_QUEUED {
            return Err(Refusal::Transaction("the transaction is too long"));
        }
        transaction.octets += more;
        transaction.queued.push(request.from(0).map(<[u8]>::to_vec).collect());
        Ok(b"+QUEUED\r\n".to_vec())
    }

    /// Executes what a transaction has collected.
    pub fn execute_transaction(
        &mut self,
        session: &mut Session,
        now_ms: u64,
        replies: &mut Replies,
    ) -> Result<(), Refusal> {
        let transaction = session.transaction.take().ok_or(Refusal::Transaction("EXEC without MULTI"))?;
        if transaction.is_refused {
            return Err(Refusal::Abort);
        }
        replies.array(transaction.queued.len());
        for arguments in transaction.queued {
            let (octets, ranges) = crate::resp::joined(&arguments);
            let request = Request::new(&octets, &ranges);
            let command = commands::find(request.get(0)).ok_or(Refusal::Abort)?;
            let result = self.run(session, command, request, now_ms, replies.room());
            match result {
                // what was done cannot be replied: nothing of the transaction is done
                Err(Refusal::Reply) => return Err(Refusal::Reply),
                Err(refusal) => replies.append(&error(&refusal)),
                Ok(octets) => replies.append(&octets),
            }
        }
        Ok(())
    }

    /// Stores where a search goes on, and returns its cursor.
    pub fn add_cursor(&mut self, after: &[u8]) -> u64 {
        if self.cursors.len() == MAX_CURSORS {
            self.cursors.pop_front();
        }
        self.last_cursor += 1;
        self.cursors.push_back((self.last_cursor, after.to_vec()));
        self.last_cursor
    }

    /// Returns where a search goes on. The cursor stays valid, so that a lost reply can be asked for again.
    pub fn cursor(&self, cursor: u64) -> Option<&[u8]> {
        self.cursors.iter().find(|(number, _)| *number == cursor).map(|(_, after)| after.as_slice())
    }

    /// Gives a connection other rights, and ends the subscriptions that they do not allow.
    pub fn narrow(&mut self, session: &mut Session, rights: Arc<Rights>) {
        let may_read = |name: &[u8]| rights.allow(namespace_of(name), Access::Read);
        let is_kept = |channel: &Vec<u8>| channel.is_empty() || may_read(channel);
        let (channels, ended): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut session.channels).into_iter().partition(is_kept);
        ended.iter().for_each(|channel| self.hub.unsubscribe(session.number, channel, false));
        session.channels = channels;
        let is_kept = |pattern: &Vec<u8>| may_read(&glob::literal_prefix(pattern));
        let (patterns, ended): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut session.patterns).into_iter().partition(is_kept);
        ended.iter().for_each(|pattern| self.hub.unsubscribe(session.number, pattern, true));
        session.patterns = patterns;
        session.rights = rights;
    }

    /// Ends all subscriptions of a connection.
    pub fn leave(&mut self, session: &mut Session) {
        let (channels, patterns) = (std::mem::take(&mut session.channels), std::mem::take(&mut session.patterns));
        channels.iter().for_each(|channel| self.hub.unsubscribe(session.number, channel, false));
        patterns.iter().for_each(|pattern| self.hub.unsubscribe(session.number, pattern, true));
    }
}

/// An error in the form of a reply.
pub(crate) fn error(refusal: &Refusal) -> Vec<u8> {
    let mut replies = Replies::new(Version::V2, usize::MAX);
    replies.error(&refusal.to_string());
    replies.into_octets().0
}

/// The name of a command as an error shows it.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(32).collect()
}
