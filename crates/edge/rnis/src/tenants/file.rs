//! The file of tenants.
//!
//! ```toml
//! [[tenant]]
//! name = "video"
//! weight = 2
//! max_subscriptions = 100
//! notifications_per_s = 500
//! event_types = ["cell_change", "nr_meas_rep_ue"]
//! queries = ["layer2_meas"]
//! plmns = ["00101"]
//! cells = ["00101-003800001"]
//! slices = ["1-0000ab", "2"]
//! ues = ["10.45.0.0/24", "nated:198.51.100.0/24", "teid:0000002a", "imsi:001010000000001"]
//! callbacks = ["10.0.0.0/8:9000-9100", "*.video.example"]
//!
//! [[tenant.client]]
//! id = "video-1"
//! secret_sha256 = "…"
//! ```

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

use data_encoding::HEXLOWER_PERMISSIVE;
use ids::PlmnIdentity;
use ring::digest::{SHA256, digest};
use settings::{Document, Error, Table, TableKeys};

use super::rights::{Rights, UeRights};
use crate::api::OWNER;
use crate::criteria::Topic;
use crate::delivery::{AllowList, AllowRule, MAX_RULES, TenantShare};
use crate::identity::{AssociateId, AssociateIdType, Cell, Slice};

/// The most tenants, and the most clients of one.
const MAX_TENANTS: usize = 1024;
const MAX_CLIENTS: usize = 16;
/// The most values of a right.
const MAX_VALUES: usize = 4096;
/// Shorter secrets could be guessed: they are hashed without salt and repetition.
const MIN_SECRET: usize = 16;
const MAX_SECRET: usize = 256;
/// The names of queries in paths.
const QUERIES: [&str; 4] = ["rab_info", "plmn_info", "s1_bearer_info", "layer2_meas"];

/// The hash of a secret.
pub type SecretHash = [u8; 32];

/// A tenant of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub rights: Rights,
    pub max_subscriptions: Option<usize>,
    pub share: TenantShare,
    pub callbacks: Option<AllowList>,
    /// Ids of clients, and the hashes of their secrets; none if another issuer knows the secret.
    pub clients: Vec<(String, Option<SecretHash>)>,
}

const FILE: TableKeys = TableKeys { name: "the file of tenants", keys: &["tenant"] };
const TENANT: TableKeys = TableKeys {
    name: "[[tenant]]",
    keys: &[
        "name",
        "weight",
        "max_subscriptions",
        "notifications_per_s",
        "event_types",
        "queries",
        "plmns",
        "cells",
        "slices",
        "ues",
        "callbacks",
        "client",
    ],
};
const CLIENT: TableKeys = TableKeys { name: "[[tenant.client]]", keys: &["id", "secret", "secret_sha256"] };

/// Hashes a secret.
pub fn hash(secret: &[u8]) -> SecretHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret).as_ref()); // SHA-256 has 32 octets
    hash
}

/// Reads the text of a file.
///
/// # Errors
/// The first mistake, with its line. It contains no secret.
pub fn parse(text: &str) -> Result<Vec<Entry>, Error> {
    let document = Document::parse(text)?;
    let (mut entries, mut names, mut clients) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for table in document.root(&FILE)?.tables("tenant", &TENANT, MAX_TENANTS)? {
        let entry = read(&table, &mut clients)?;
        if !names.insert(entry.name.clone()) {
            return Err(table.invalid("name", format!("another tenant has the name `{}`", entry.name)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn read(table: &Table<'_>, known: &mut BTreeSet<String>) -> Result<Entry, Error> {
    const NAME: &str = "1 to 64 letters, digits, `-` and `_`";
    let name = table.text("name", NAME)?.ok_or_else(|| table.missing("name", NAME))?;
    let is_name = |octet: u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
    if !(1..=64).contains(&name.len()) || !name.bytes().all(is_name) {
        return Err(table.invalid("name", format!("a name has {NAME}")));
    }
    if name == OWNER {
        return Err(table.invalid("name", format!("`{OWNER}` are requests without a tenant")));
    }
    let weight = table.integer("weight", 1..=1000)?.unwrap_or(1);
    let quota_per_s = table.integer("notifications_per_s", 0..=10_000_000)?;
    let max_subscriptions = table.integer::<i64>("max_subscriptions", 0..=10_000_000)?;
    let rules: Option<Vec<AllowRule>> = values(table, "callbacks", MAX_RULES, AllowRule::from_str)?;
    let mut clients = Vec::new();
    for client in table.tables("client", &CLIENT, MAX_CLIENTS)? {
        clients.push(read_client(&client, known)?);
    }
    Ok(Entry {
        name: name.to_owned(),
        rights: Rights {
            topics: set(table, "event_types", topic)?,
            queries: set(table, "queries", query)?,
            plmns: set(table, "plmns", |text| {
                text.parse::<PlmnIdentity>().map_err(|_| format!("`{text}` is not a PLMN of 5 or 6 digits"))
            })?,
            cells: set(table, "cells", |text| Cell::try_from(text.to_owned()))?,
            slices: values(table, "slices", MAX_VALUES, slice)?,
            ues: read_ues(table)?,
        },
        max_subscriptions: max_subscriptions.and_then(|most| usize::try_from(most).ok()),
        share: TenantShare { weight, quota_per_s },
        callbacks: rules.map(AllowList::new),
        clients,
    })
}

fn read_client(table: &Table<'_>, known: &mut BTreeSet<String>) -> Result<(String, Option<SecretHash>), Error> {
    const ID: &str = "1 to 128 letters, digits, `-`, `.`, `_` and `~`";
    let id = table.text("id", ID)?.ok_or_else(|| table.missing("id", ID))?;
    let is_id = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~".contains(&octet);
    if !(1..=128).contains(&id.len()) || !id.bytes().all(is_id) {
        return Err(table.invalid("id", format!("an id has {ID}")));
    }
    if !known.insert(id.to_owned()) {
        return Err(table.invalid("id", format!("another client has the id `{id}`")));
    }
    const SECRET: &str = "16 to 256 visible characters; `openssl rand -hex 32` generates one";
    let secret = table.text("secret", SECRET)?;
    let is_secret = |secret: &str| {
        (MIN_SECRET..=MAX_SECRET).contains(&secret.len()) && secret.bytes().all(|octet| octet.is_ascii_graphic())
    };
    if secret.is_some_and(|secret| !is_secret(secret)) {
        // the secret is not shown
        return Err(table.invalid("secret", format!("a secret has {SECRET}")));
    }
    let digits = table.text("secret_sha256", "64 hexadecimal digits")?;
    let hashed = digits.map(|digits| {
        let octets = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok().and_then(|it| SecretHash::try_from(it).ok());
        octets.ok_or_else(|| {
            table.invalid("secret_sha256", "it is not 64 hexadecimal digits, as `sha256sum` prints them")
        })
    });
    match (secret, hashed.transpose()?) {
        (Some(_), Some(_)) => Err(table.invalid("secret", "a client has `secret` or `secret_sha256`, not both")),
        (Some(secret), None) => Ok((id.to_owned(), Some(hash(secret.as_bytes())))),
        (None, hashed) => Ok((id.to_owned(), hashed)),
    }
}

/// Reads a list.
fn values<T>(
    table: &Table<'_>,
    key: &'static str,
    most: usize,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Vec<T>>, Error> {
    let Some(texts) = table.texts(key, most, "a list of texts")? else { return Ok(None) };
    let read = |(at, text): (usize, &str)| read(text).map_err(|reason| table.invalid_element(key, at, reason));
    texts.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn set<T: Ord>(
    table: &Table<'_>,
    key: &'static str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<BTreeSet<T>>, Error> {
    Ok(values(table, key, MAX_VALUES, read)?.map(|values| values.into_iter().collect()))
}

fn topic(text: &str) -> Result<Topic, String> {
    let found = Topic::ALL.into_iter().find(|topic| topic.word() == text);
    let words = || Topic::ALL.map(Topic::word).join(", ");
    found.ok_or_else(|| format!("`{text}` is none of {}", words()))
}

fn query(text: &str) -> Result<String, String> {
    if QUERIES.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is none of {}", QUERIES.join(", ")))
    }
}

fn slice(text: &str) -> Result<Slice, String> {
    Slice::try_from(text.to_owned())
}

/// Reads a network, or an address.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(longest), |length| length.parse().ok().filter(|length| *length <= longest))?;
    Some((address, length))
}

fn read_ues(table: &Table<'_>) -> Result<Option<UeRights>, Error> {
    let Some(texts) = table.texts("ues", MAX_VALUES, "a list of texts")? else { return Ok(None) };
    let mut ues = UeRights::default();
    for (at, text) in texts.into_iter().enumerate() {
        let refuse = |reason: String| table.invalid_element("ues", at, reason);
        let form = || {
            refuse(format!(
                "`{text}` is not an address, a network such as 10.45.0.0/24, `nated:` and one of them, `teid:` and a TEID, or a \
                 name of the directory, such as imsi:001010000000001"
            ))
        };
        if let Some(network) = network(text) {
            ues.addresses.push(network);
            continue;
        }
        match text.split_once(':') {
            Some(("nated", address)) => ues.nated.push(network(address).ok_or_else(form)?),
            Some(("teid", digits)) => {
                ues.ids.insert(AssociateId::read(AssociateIdType::GtpTeid, digits).map_err(refuse)?);
            }
            Some((kind, name))
                if !name.is_empty() && kind.bytes().all(|octet| octet.is_ascii_alphabetic()) && !kind.is_empty() =>
            {
                ues.names.push(text.to_owned());
            }
            _ => return Err(form()),
        }
    }
    Ok(Some(ues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_tenants_with_rights_quotas_and_clients() {
        let text = r#"
            [[tenant]]
            name = "video"
            weight = 2
            max_subscriptions = 100
            notifications_per_s = 500
            event_types = ["cell_change"]
            queries = ["rab_info"]
            plmns = ["00101"]
            cells = ["00101-003800001"]
            slices = ["1-0000ab", "2"]
            ues = ["10.45.0.0/24", "2001:db8::1", "nated:192.0.2.7", "teid:0x2a", "imsi:001010000000001"]
            callbacks = ["10.0.0.0/8:9000-9100"]
            [[tenant.client]]
            id = "video-1"
            secret = "0123456789abcdef"
            [[tenant.client]]
            id = "video-2"
            secret_sha256 = "9F9F5111F7B27A781F1F1DDDE5EBC2DD2B796BFC7365C9C28B548E564176929F"
            [[tenant]]
            name = "all"
        "#;
        let entries = parse(text).unwrap();
        let [video, all] = &*entries else { panic!("{entries:?}") };
        assert_eq!(
            (video.share, video.max_subscriptions),
            (TenantShare { weight: 2, quota_per_s: Some(500) }, Some(100))
        );
        assert_eq!(video.clients[0], ("video-1".to_owned(), Some(hash(b"0123456789abcdef"))));
        assert_eq!(video.clients[1].1, video.clients[0].1, "of the same secret, by sha256sum");
        let ues = video.rights.ues.as_ref().unwrap();
        assert_eq!((ues.addresses.len(), ues.nated.len(), ues.ids.len(), ues.names.len()), (2, 1, 1, 1));
        assert_eq!(video.rights.slices.as_ref().unwrap().len(), 2);
        assert_eq!((&all.rights, &all.callbacks), (&Rights::default(), &None));
    }

    #[test]
    fn mistake_is_named_with_its_line_and_without_secrets() {
        for (text, expected) in [
            ("[[tenant]]\n", "line 1: tenant[0]"),
            ("[[tenant]]\nname = \"a b\"", "line 2"),
            ("[[tenant]]\nname = \"anonymous\"", "line 2"),
            ("[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"a\"", "line 4"),
            ("[[tenant]]\nname = \"a\"\nevent_type = []", "did you mean `event_types`?"),
            ("[[tenant]]\nname = \"a\"\nevent_types = [\"cell\"]", "`cell` is none of cell_change"),
            ("[[tenant]]\nname = \"a\"\nqueries = [\"x\"]", "`x` is none of rab_info"),
            ("[[tenant]]\nname = \"a\"\nues = [\"10.0.0.0/33\"]", "is not an address"),
            ("[[tenant]]\nname = \"a\"\nslices = [\"300\"]", "slices[0]"),
            ("[[tenant]]\nname = \"a\"\ncells = [\"1\"]", "cells[0]"),
            ("[[tenant]]\nname = \"a\"\ncallbacks = [\"http://x\"]", "callbacks[0]"),
            ("[[tenant]]\nname = \"a\"\nweight = 0", "weight"),
            ("[[tenant]]\nname = \"a\"\n[[tenant.client]]\nid = \"x\"\nsecret = \"hush-hush\"", "a secret has 16"),
            ("[[tenant]]\nname = \"a\"\n[[tenant.client]]\nid = \"x\"\n[[tenant.client]]\nid = \"x\"", "the id `x`"),
            (
                "[[tenant]]\nname = \"a\"\n[[tenant.client]]\nid = \"x\"\nsecret_sha256 = \"hush-hush\"",
                "64 hexadecimal",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hush-hush"), "{text}: {error}");
        }
    }
}
