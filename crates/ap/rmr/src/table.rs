//! Route tables: where a message goes.
//!
//! | record | meaning |
//! |---|---|
//! | `newrt\|start[\|ID]`, `newrt\|end[\|COUNT]` | a whole table begins and ends; it replaces the former routes |
//! | `updatert\|start[\|ID]`, `updatert\|end[\|COUNT]` | a change of the table in use |
//! | `mse\|TYPE[,SENDER…]\|SUBSCRIPTION\|GROUPS` | a route; with senders only theirs |
//! | `rte\|TYPE[,SENDER…]\|GROUPS[\|SUBSCRIPTION]` | the same in the older form |
//! | `del\|TYPE[,SENDER…]\|SUBSCRIPTION` | a route is removed |
//! | `meid_map\|start[\|ID]`, `meid_map\|end[\|COUNT[\|MD5]]` | a change of the owners of managed entities |
//! | `mme_ar\|OWNER\|MEID…`, `mme_del\|MEID…` | the owner of managed entities; managed entities without owner |
//!
//! `GROUPS` are separated by `;`, and a message goes to one endpoint of each; endpoints of a group, `HOST:PORT`, are separated by
//! `,`, and have their turn one after the other. `%meid` instead of groups is the owner of the message's managed entity. An
//! endpoint does not send to itself, so that a table cannot let a message return. The checksum is not verified.
//!
//! A table is used as a whole or not at all: with a record that is malformed or beyond a bound, or another number of records than
//! stated, the former table stays.

use core::fmt;
use std::collections::HashMap;

use crate::{MessageType, NO_SUBSCRIPTION};

/// Records of a table.
pub const MAX_RECORDS: usize = 65_536;
/// Groups of a route.
pub const MAX_GROUPS: usize = 64;
/// Endpoints of a group.
pub const MAX_ENDPOINTS: usize = 64;
/// Managed entities with an owner.
pub const MAX_MEIDS: usize = 65_536;
/// Octets of an endpoint or a managed entity id.
pub const MAX_NAME_OCTETS: usize = 255;

/// Why a message cannot be routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoute {
    /// The table has no route for its type and subscription.
    Type,
    /// The managed entity of the message has no owner.
    Meid,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoRoute::Type => "the route table has no endpoint for its type and subscription",
            NoRoute::Meid => "the route table has no owner of its managed entity",
        })
    }
}

impl core::error::Error for NoRoute {}

/// Endpoints that have their turn one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    endpoints: Vec<String>,
    next: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Route {
    Groups(Vec<Group>),
    OwnerOfMeid,
}

/// The routes of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteTable {
    routes: HashMap<(i32, i32), Route>,
    owners: HashMap<String, String>,
}

impl RouteTable {
    /// Passes each endpoint that a message goes to: one of each group, the next in turn. A subscription without a route of its
    /// own has that of its message type.
    ///
    /// # Errors
    /// If there is none.
    pub fn select(
        &mut self,
        kind: MessageType,
        subscription_id: i32,
        meid: &str,
        mut to: impl FnMut(&str),
    ) -> Result<(), NoRoute> {
        let key = Some((kind.0, subscription_id)).filter(|key| self.routes.contains_key(key));
        match self.routes.get_mut(&key.unwrap_or((kind.0, NO_SUBSCRIPTION))).ok_or(NoRoute::Type)? {
            Route::OwnerOfMeid => to(self.owners.get(meid).ok_or(NoRoute::Meid)?),
            Route::Groups(groups) if groups.is_empty() => return Err(NoRoute::Type),
            Route::Groups(groups) => {
                for Group { endpoints, next } in groups {
                    to(&endpoints[*next]);
                    *next = (*next + 1) % endpoints.len();
                }
            }
        }
        Ok(())
    }

    /// The number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether it has no routes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }
}

/// What a reader has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableEvent {
    /// A table or a change is in use.
    Installed {
        /// Its id, if it has one.
        id: Option<String>,
    },
    /// A table or a change is not used; the former table stays.
    Rejected {
        /// Its id, if it has one.
        id: Option<String>,
        /// Why.
        reason: String,
    },
}

/// The payload with which a route manager is told, in a message of type [`MessageType::TABLE_STATE`].
impl fmt::Display for TableEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = "<id-missing>";
        match self {
            TableEvent::Installed { id } => write!(f, "OK {} ", id.as_deref().unwrap_or(missing)),
            TableEvent::Rejected { id, reason } => write!(f, "ERR {} {reason}", id.as_deref().unwrap_or(missing)),
        }
    }
}

/// What a table in the making is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Whole,
    Update,
    Meids,
}

/// A table in the making.
#[derive(Debug)]
struct Draft {
    section: Section,
    id: Option<String>,
    table: RouteTable,
    records: usize,
    fault: Option<String>,
}

/// Reads the records of route tables, as they arrive in messages or stand in a file, and has the table in use.
#[derive(Debug, Default)]
pub struct TableReader {
    /// The endpoints `HOST:PORT` that are the reader itself.
    own: Vec<String>,
    table: RouteTable,
    /// Whether a whole table was installed.
    is_complete: bool,
    draft: Option<Draft>,
}

impl TableReader {
    /// A reader with an empty table. `own` are the endpoints under which others know it: records with senders are used if one of
    /// them is among those, and they do not become the destination of a route.
    #[must_use]
    pub fn new(own: Vec<String>) -> Self {
        TableReader { own, ..TableReader::default() }
    }

    /// The table in use.
    pub fn table(&mut self) -> &mut RouteTable {
        &mut self.table
    }

    /// Whether a whole table was installed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Reads records, one a line, each whole. Returns what tables they end.
    pub fn read(&mut self, text: &str) -> Vec<TableEvent> {
        text.split(['\n', '\r', '\0']).flat_map(|line| self.record(line)).collect()
    }

    fn record(&mut self, line: &str) -> Vec<TableEvent> {
        let line = without_comment(line);
        if line.is_empty() {
            return Vec::new();
        }
        let mut fields = line.split('|').map(str::trim);
        let (word, rest) = (fields.next().unwrap_or_default(), fields.collect::<Vec<_>>());
        let section = match word {
            "newrt" => Section::Whole,
            "updatert" => Section::Update,
            "meid_map" => Section::Meids,
            _ => {
                self.entry(word, &rest);
                return Vec::new();
            }
        };
        match rest.first() {
            Some(&"end") => self.end(section, rest.get(1).copied()).into_iter().collect(),
            Some(_) => self.start(section, rest.get(1).copied()).into_iter().collect(),
            None => Vec::new(),
        }
    }

    fn start(&mut self, section: Section, id: Option<&str>) -> Option<TableEvent> {
        let unfinished = self.draft.take().map(|Draft { id, .. }| TableEvent::Rejected {
            id,
            reason: "another table has begun before its end".to_owned(),
        });
        // as in the reference implementation: an update has no effect before a whole table
        if section == Section::Update && !self.is_complete {
            return unfinished;
        }
        let mut table = self.table.clone();
        if section == Section::Whole {
            table.routes.clear();
        }
        let id = id.filter(|id| !id.is_empty()).map(|id| id.chars().take(MAX_NAME_OCTETS / 4).collect());
        self.draft = Some(Draft { section, id, table, records: 0, fault: None });
        unfinished
    }

    fn end(&mut self, section: Section, count: Option<&str>) -> Option<TableEvent> {
        let Draft { section: begun, id, table, records, fault } = self.draft.take()?;
        let stated = count.filter(|count| !count.is_empty());
        let reason = match (fault, stated) {
            _ if begun != section => Some("it ends with a record of another kind than it begins".to_owned()),
            (Some(fault), _) => Some(fault),
            (None, Some(stated)) if stated.parse() != Ok(records) => {
                Some(format!("missing table records: expected {stated} got {records}"))
            }
            (None, _) => None,
        };
        if let Some(reason) = reason {
            return Some(TableEvent::Rejected { id, reason });
        }
        self.table = table;
        self.is_complete |= section == Section::Whole;
        Some(TableEvent::Installed { id })
    }

    fn entry(&mut self, word: &str, fields: &[&str]) {
        let Some(draft) = &mut self.draft else { return };
        draft.records += 1;
        if draft.fault.is_some() {
            return;
        }
        let result = match (word, fields) {
            _ if draft.records > MAX_RECORDS => Err(format!("a table has at most {MAX_RECORDS} records")),
            ("mse", [key, subscription, groups, ..]) => draft.add(&self.own, key, subscription, groups),
            ("rte", [key, groups]) => draft.add(&self.own, key, "-1", groups),
            ("rte", [key, groups, subscription, ..]) => draft.add(&self.own, key, subscription, groups),
            ("del", [key, subscription, ..]) => draft.remove(&self.own, key, subscription),
            ("mme_ar", [owner, meids, ..]) => draft.own(owner, meids),
            ("mme_del", [meids, ..]) => {
                for meid in meids.split_ascii_whitespace() {
                    draft.table.owners.remove(meid);
                }
                Ok(())
            }
            ("mse" | "rte" | "del" | "mme_ar" | "mme_del", _) => Err(format!("a record `{word}` has too few fields")),
            // unknown records do not count, as in the reference implementation
            _ => {
                draft.records -= 1;
                Ok(())
            }
        };
        draft.fault = result.err();
    }
}

/// A line without its comment, which begins with `#` at the begin of the line or behind white space.
fn without_comment(line: &str) -> &str {
    let is_begin = |at: &(usize, char)| at.1 == '#' && line[..at.0].chars().next_back().is_none_or(char::is_whitespace);
    let end = line.char_indices().find(is_begin).map_or(line.len(), |(at, _)| at);
    line[..end].trim()
}

/// The message type and the subscription of a record, and whether it is for this endpoint.
fn key(own: &[String], key: &str, subscription: &str) -> Result<((i32, i32), bool), String> {
    let mut parts = key.split(',').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let kind = kind.parse().map_err(|_| format!("`{}` is not a message type", shown(kind)))?;
    let subscription =
        subscription.parse().map_err(|_| format!("`{}` is not a subscription id", shown(subscription)))?;
    let senders: Vec<_> = parts.collect();
    let is_own = senders.is_empty() || senders.iter().any(|sender| own.iter().any(|own| own == sender));
    Ok(((kind, subscription), is_own))
}

/// The begin of a text, for a message about it.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

impl Draft {
    fn add(&mut self, own: &[String], of: &str, subscription: &str, groups: &str) -> Result<(), String> {
        let (key, is_own) = key(own, of, subscription)?;
        let route = match groups {
            "%meid" => Route::OwnerOfMeid,
            groups => Route::Groups(read_groups(own, groups)?),
        };
        if is_own {
            self.table.routes.insert(key, route);
        }
        Ok(())
    }

    fn remove(&mut self, own: &[String], of: &str, subscription: &str) -> Result<(), String> {
        let (key, is_own) = key(own, of, subscription)?;
        if is_own {
            self.table.routes.remove(&key);
        }
        Ok(())
    }

    fn own(&mut self, owner: &str, meids: &str) -> Result<(), String> {
        check_endpoint(owner)?;
        for meid in meids.split_ascii_whitespace() {
            if meid.len() > MAX_NAME_OCTETS {
                return Err(format!("a managed entity id exceeds {MAX_NAME_OCTETS} octets"));
            }
            self.table.owners.insert(meid.to_owned(), owner.to_owned());
            if self.table.owners.len() > MAX_MEIDS {
                return Err(format!("at most {MAX_MEIDS} managed entities have owners"));
            }
        }
        Ok(())
    }
}

fn read_groups(own: &[String], text: &str) -> Result<Vec<Group>, String> {
    let mut groups = Vec::new();
    for group in text.split(';') {
        let mut endpoints = Vec::new();
        for endpoint in group.split(',').map(str::trim).filter(|endpoint| !endpoint.is_empty()) {
            check_endpoint(endpoint)?;
            if own.iter().any(|own| own == endpoint) {
                continue;
            }
            if endpoints.len() == MAX_ENDPOINTS {
                return Err(format!("a group has at most {MAX_ENDPOINTS} endpoints"));
            }
            endpoints.push(endpoint.to_owned());
        }
        if groups.len() == MAX_GROUPS {
            return Err(format!("a route has at most {MAX_GROUPS} groups"));
        }
        if !endpoints.is_empty() {
            groups.push(Group { endpoints, next: 0 });
        }
    }
    Ok(groups)
}

/// Checks that an endpoint is `HOST:PORT`.
fn check_endpoint(endpoint: &str) -> Result<(), String> {
    let port = endpoint.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(1..)) if endpoint.len() <= MAX_NAME_OCTETS => Ok(()),
        _ => Err(format!("`{}` is not an endpoint HOST:PORT", shown(endpoint))),
    }
}

#[cfg(test)]
mod tests;
