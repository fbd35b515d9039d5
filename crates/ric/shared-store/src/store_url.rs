//! The URL of a store: one Redis server, Redis Sentinel or Redis Cluster.

use std::fmt;
use std::str::FromStr;

use redis::cluster::ClusterClient;
use redis::{Connection, ErrorKind, RedisError};

use crate::connection::StoreConnection;
use crate::remedy::UNKNOWN_PRIMARY;
use crate::url::{RedisFiles, RedisUrl, RedisUrlError, TIMEOUT};

/// The port of Redis Sentinel.
const SENTINEL_PORT: u16 = 26379;
/// The port of Redis.
const REDIS_PORT: u16 = 6379;
/// What a URL may be beside one of a server.
const FORM: &str = "a store is redis+sentinel://HOST[:PORT],…/NAME, redis+cluster://HOST[:PORT],… or one server";
/// The most hosts in a URL.
const MAX_HOSTS: usize = 16;

/// A store, as its URL names it. `Display` omits the password.
///
/// | URL | |
/// |---|---|
/// | `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, `redis+unix:///PATH` | one server |
/// | `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/NAME[/DATABASE]` | the primary of that name; the hosts are those of Redis Sentinel, the default port is 26379 |
/// | `redis+cluster://[USER:PASSWORD@]HOST[:PORT],…` | Redis Cluster; some of its servers, which name the others |
///
/// `rediss` in place of `redis` is the same over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Server(RedisUrl),
    Sentinel { sentinels: Vec<RedisUrl>, name: String, primary: PrimaryUrl, files: RedisFiles },
    Cluster { servers: Vec<RedisUrl>, files: RedisFiles },
}

/// What the URL of the primary has beside its address, which Sentinel names.
#[derive(Clone, PartialEq, Eq)]
struct PrimaryUrl {
    scheme: &'static str,
    credentials: String,
    database: String,
}

impl fmt::Debug for PrimaryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrimaryUrl").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl PrimaryUrl {
    fn at(&self, host: &str, port: u16) -> String {
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        format!("{}://{}{open}{host}{close}:{port}{}", self.scheme, self.credentials, self.database)
    }
}

impl StoreUrl {
    /// Whether a text has the scheme of a store's URL.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        let scheme = text.split("://").next().unwrap_or_default();
        matches!(
            scheme,
            "redis"
                | "rediss"
                | "redis+unix"
                | "redis+sentinel"
                | "rediss+sentinel"
                | "redis+cluster"
                | "rediss+cluster"
        ) && text.contains("://")
    }

    /// Returns the same store with the credentials of some files: the password is that of Redis, not of Sentinel.
    ///
    /// # Errors
    /// As [`RedisUrl::with_files`].
    pub fn with_files(&self, files: &RedisFiles) -> Result<Self, RedisUrlError> {
        let all = |urls: &[RedisUrl], files: &RedisFiles| {
            urls.iter().map(|url| url.with_files(files)).collect::<Result<Vec<_>, _>>()
        };
        Ok(StoreUrl(match &self.0 {
            Kind::Server(url) => Kind::Server(url.with_files(files)?),
            Kind::Sentinel { sentinels, name, primary, .. } => {
                // the files are read again whenever a primary is found; a mistake in them is found now
                primary.at("localhost", REDIS_PORT).parse::<RedisUrl>()?.with_files(files)?;
                let sentinels = all(sentinels, &RedisFiles { password: None, ..files.clone() })?;
                Kind::Sentinel { sentinels, name: name.clone(), primary: primary.clone(), files: files.clone() }
            }
            Kind::Cluster { servers, .. } => Kind::Cluster { servers: all(servers, files)?, files: files.clone() },
        }))
    }

    /// Connects. Each reply must arrive within 2 s.
    ///
    /// # Errors
    /// If no server can be reached, or one refuses the credentials.
    pub fn connect(&self) -> Result<StoreConnection, RedisError> {
        match &self.0 {
            Kind::Cluster { servers, files } => {
                let infos: Vec<_> = servers.iter().map(|server| server.info().clone()).collect();
                let mut client = ClusterClient::builder(infos);
                if files.ca.is_some() || files.own.is_some() {
                    client = client.certs(files.certificates().map_err(unusable)?);
                }
                let client = client.connection_timeout(TIMEOUT).response_timeout(TIMEOUT).retries(3);
                let connection = client.build()?.get_connection()?;
                connection.set_write_timeout(Some(TIMEOUT))?;
                Ok(StoreConnection::Cluster(Box::new(connection)))
            }
            _ => self.connect_to_server().map(StoreConnection::Server),
        }
    }

    /// Connects to one server, for subscriptions to channels: in a cluster to any, since each passes messages on to all others.
    ///
    /// # Errors
    /// As [`StoreUrl::connect`].
    pub fn connect_to_server(&self) -> Result<Connection, RedisError> {
        match &self.0 {
            Kind::Server(url) => url.connect(),
            Kind::Sentinel { sentinels, name, primary, files } => find_primary(sentinels, name, primary, files),
            Kind::Cluster { servers, .. } => first(servers, RedisUrl::connect),
        }
    }
}

/// Returns the first success, or the last failure.
fn first<T>(urls: &[RedisUrl], attempt: impl Fn(&RedisUrl) -> Result<T, RedisError>) -> Result<T, RedisError> {
    let mut result = Err(RedisError::from((ErrorKind::InvalidClientConfig, "there is no server")));
    for url in urls {
        result = attempt(url);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Asks Sentinel for the primary, and connects to it.
fn find_primary(
    sentinels: &[RedisUrl],
    name: &str,
    primary: &PrimaryUrl,
    files: &RedisFiles,
) -> Result<Connection, RedisError> {
    first(sentinels, |sentinel| {
        let mut connection = sentinel.connect()?;
        let address: Option<(String, u16)> =
            redis::cmd("SENTINEL").arg("get-master-addr-by-name").arg(name).query(&mut connection)?;
        let unknown = || RedisError::from((ErrorKind::Client, UNKNOWN_PRIMARY, name.to_owned()));
        let (host, port) = address.ok_or_else(unknown)?;
        let url =
            primary.at(&host, port).parse::<RedisUrl>().and_then(|url| url.with_files(files)).map_err(unusable)?;
        let mut connection = url.connect()?;
        // Sentinel may name a server that has just become a replica
        let role: Vec<redis::Value> = redis::cmd("ROLE").query(&mut connection)?;
        match role.first() {
            Some(redis::Value::BulkString(role)) if role == b"master" => Ok(connection),
            _ => Err(RedisError::from((
                ErrorKind::Client,
                "the server that Sentinel names is no primary",
                url.to_string(),
            ))),
        }
    })
}

fn unusable(error: RedisUrlError) -> RedisError {
    RedisError::from((ErrorKind::InvalidClientConfig, "the credentials cannot be used", error.to_string()))
}

impl From<RedisUrl> for StoreUrl {
    fn from(url: RedisUrl) -> Self {
        StoreUrl(Kind::Server(url))
    }
}

impl FromStr for StoreUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = |why: &str| RedisUrlError::Malformed(why.to_owned());
        let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
        let (scheme, of) = match scheme.split_once('+') {
            Some(("redis", of @ ("sentinel" | "cluster"))) => ("redis", of),
            Some(("rediss", of @ ("sentinel" | "cluster"))) => ("rediss", of),
            _ if StoreUrl::is_one(text) => return Ok(StoreUrl(Kind::Server(text.parse()?))),
            _ => return Err(malformed(FORM)),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let credentials = if credentials.is_empty() { String::new() } else { format!("{credentials}@") };
        let hosts: Vec<_> = hosts.split(',').collect();
        if hosts.len() > MAX_HOSTS || hosts.iter().any(|host| host.is_empty()) {
            return Err(malformed("a URL has 1 to 16 hosts, separated by commas"));
        }
        let with_port = |host: &str, default: u16| {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            if has_port && !host.ends_with(']') { host.to_owned() } else { format!("{host}:{default}") }
        };
        if of == "cluster" {
            if !path.is_empty() {
                return Err(malformed("Redis Cluster has no databases"));
            }
            let server = |host: &&str| format!("{scheme}://{credentials}{}", with_port(host, REDIS_PORT)).parse();
            let servers = hosts.iter().map(server).collect::<Result<_, _>>()?;
            return Ok(StoreUrl(Kind::Cluster { servers, files: RedisFiles::default() }));
        }
        let (name, database) = path.split_once('/').map_or((path, ""), |(name, database)| (name, database));
        if name.is_empty() {
            return Err(malformed("the name of the primary is missing: redis+sentinel://HOST:PORT,HOST:PORT/NAME"));
        }
        let database = if database.is_empty() { String::new() } else { format!("/{database}") };
        let primary = PrimaryUrl { scheme, credentials, database };
        primary.at("localhost", REDIS_PORT).parse::<RedisUrl>()?;
        let sentinel = |host: &&str| format!("{scheme}://{}", with_port(host, SENTINEL_PORT)).parse();
        let sentinels = hosts.iter().map(sentinel).collect::<Result<_, _>>()?;
        Ok(StoreUrl(Kind::Sentinel { sentinels, name: name.to_owned(), primary, files: RedisFiles::default() }))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (urls, of, path) = match &self.0 {
            Kind::Server(url) => return url.fmt(f),
            Kind::Sentinel { sentinels, name, .. } => (sentinels, "sentinel", format!("/{name}")),
            Kind::Cluster { servers, .. } => (servers, "cluster", String::new()),
        };
        let texts: Vec<_> = urls.iter().map(ToString::to_string).collect();
        let parts: Vec<_> = texts.iter().filter_map(|text| text.split_once("://")).collect();
        let scheme = parts.first().map_or("redis", |(scheme, _)| scheme);
        let hosts: Vec<_> = parts.iter().map(|(_, host)| *host).collect();
        write!(f, "{scheme}+{of}://{}{path}", hosts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(text: &str) -> String {
        assert!(StoreUrl::is_one(text), "{text}");
        let url: StoreUrl = text.parse().unwrap();
        assert!(!format!("{url:?}").contains("secret"), "{url:?}");
        url.to_string()
    }

    #[test]
    fn url_names_a_server_sentinel_or_a_cluster() {
        assert_eq!(shown("redis://ric:secret@redis.example"), "redis://redis.example:6379");
        assert_eq!(shown("redis+unix:///run/redis.sock"), "redis+unix:///run/redis.sock");
        assert_eq!(
            shown("redis+sentinel://ric:secret@a,b:4,[::1]/ran/2"),
            "redis+sentinel://a:26379,b:4,::1:26379/ran"
        );
        assert_eq!(shown("rediss+cluster://:secret@a,b:4"), "rediss+cluster://a:6379,b:4");
        assert!(!StoreUrl::is_one("tcp://127.0.0.1:6379") && !StoreUrl::is_one("redis"));
    }

    #[test]
    fn malformed_url_is_refused() {
        for text in [
            "redis+sentinel://a",
            "redis+sentinel://a,/ran",
            "redis+cluster://",
            "redis+cluster://a/1",
            "redis+cluster://a,b c",
            "redis+other://a",
            "http://a",
            "redis+sentinel://a/ran/x",
        ] {
            assert!(text.parse::<StoreUrl>().is_err(), "{text}");
        }
        assert!(format!("redis+cluster://{}", ["a"; 17].join(",")).parse::<StoreUrl>().is_err());
    }

    #[test]
    fn primary_has_the_credentials_of_the_url() {
        let primary = PrimaryUrl { scheme: "rediss", credentials: "u:p@".into(), database: "/2".into() };
        assert_eq!(primary.at("::1", 4), "rediss://u:p@[::1]:4/2");
        assert_eq!(primary.at("10.0.0.1", 4), "rediss://u:p@10.0.0.1:4/2");
    }
}
