//! `rest` and `[rest_access]`.

use std::path::PathBuf;

use rest::{AccessFiles, ServerConfig, TlsFiles};
use settings::reference::names;
use settings::{Table, TableKeys};

use super::super::reference::{REST_ACCESS_KEYS, REST_LIMITS_KEYS};
use super::{ConfigError, integer, period};
use crate::RestLimits;

pub(super) const REST_ACCESS: TableKeys = TableKeys { name: "[rest_access]", keys: &names(&REST_ACCESS_KEYS) };

pub(super) const REST_LIMITS: TableKeys = TableKeys { name: "[rest_limits]", keys: &names(&REST_LIMITS_KEYS) };

pub(super) fn limits(file: &Table<'_>) -> Result<RestLimits, ConfigError> {
    let Some(table) = file.table("rest_limits", &REST_LIMITS)? else { return Ok(RestLimits::default()) };
    Ok(RestLimits {
        max_connections: integer(&table, &REST_LIMITS_KEYS, "max_connections")?,
        max_streams: integer(&table, &REST_LIMITS_KEYS, "max_streams")?,
        max_stream_events: integer(&table, &REST_LIMITS_KEYS, "max_stream_events")?,
        max_requests_per_second: integer(&table, &REST_LIMITS_KEYS, "max_requests_per_second")?,
        max_body_octets: integer(&table, &REST_LIMITS_KEYS, "max_body_octets")?,
        read_timeout: period(&table, &REST_LIMITS_KEYS, "read_timeout_ms")?,
        response_timeout: period(&table, &REST_LIMITS_KEYS, "response_timeout_ms")?,
        connection_lifetime: period(&table, &REST_LIMITS_KEYS, "connection_lifetime_ms")?,
        stream_ping: period(&table, &REST_LIMITS_KEYS, "stream_ping_ms")?,
    })
}

pub(super) fn server(file: &Table<'_>) -> Result<Option<ServerConfig>, ConfigError> {
    let Some(address) = file.text("rest", "an address and a port")? else { return Ok(None) };
    let invalid = |_| file.invalid("rest", format!("`{address}` is not an address and a port, such as 127.0.0.1:8080"));
    Ok(Some(ServerConfig::new(address.parse().map_err(invalid)?)))
}

pub(super) fn access_files(file: &Table<'_>) -> Result<AccessFiles, ConfigError> {
    let Some(table) = file.table("rest_access", &REST_ACCESS)? else { return Ok(AccessFiles::default()) };
    let path = |key| Ok::<_, ConfigError>(table.text(key, "a file")?.map(PathBuf::from));
    let tls = match (path("certificate")?, path("key")?, path("client_ca")?) {
        (Some(certificate), Some(key), client_ca) => Some(TlsFiles { certificate, key, client_ca }),
        (None, None, None) => None,
        (Some(_), None, _) => return Err(table.invalid("certificate", "requires `key`")),
        (None, Some(_), _) => return Err(table.invalid("key", "requires `certificate`")),
        (None, None, Some(_)) => return Err(table.invalid("client_ca", "requires `certificate` and `key`")),
    };
    Ok(AccessFiles { tls, tokens: path("tokens")? })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::RicConfig;

    #[test]
    fn access_files_are_read() {
        let files =
            |text: &str| RicConfig::from_toml(&format!("[rest_access]\n{text}")).map(|config| config.rest_files);
        let tls = TlsFiles { certificate: "c.pem".into(), key: "c.key".into(), client_ca: None };
        assert_eq!(files(""), Ok(AccessFiles::default()));
        assert_eq!(files("tokens = \"t\""), Ok(AccessFiles { tls: None, tokens: Some("t".into()) }));
        let all = files("certificate = \"c.pem\"\nkey = \"c.key\"\nclient_ca = \"ca.pem\"\ntokens = \"t\"").unwrap();
        assert_eq!(all.tls, Some(TlsFiles { client_ca: Some("ca.pem".into()), ..tls.clone() }));
        assert_eq!(files("certificate = \"c.pem\"\nkey = \"c.key\"").unwrap().tls, Some(tls));
        let error = |text: &str| files(text).unwrap_err().to_string();
        assert_eq!(error("certificate = \"c\""), "line 2: rest_access: certificate: requires `key`");
        assert_eq!(error("key = \"c\""), "line 2: rest_access: key: requires `certificate`");
        assert!(error("client_ca = \"c\"").contains("client_ca: requires `certificate`"));
        assert!(error("token = \"c\"").contains("unknown key `token`; did you mean `tokens`?"));
    }

    #[test]
    fn limits_are_read_and_within_their_range() {
        let limits =
            |text: &str| RicConfig::from_toml(&format!("[rest_limits]\n{text}")).map(|config| config.rest_limits);
        assert_eq!(limits(""), Ok(RestLimits::default()));
        let expected = RestLimits {
            max_connections: Some(9),
            max_streams: Some(8),
            max_stream_events: Some(7),
            max_requests_per_second: Some(6),
            max_body_octets: Some(5000),
            read_timeout: Some(Duration::from_millis(4)),
            response_timeout: Some(Duration::from_millis(3)),
            connection_lifetime: Some(Duration::from_millis(2)),
            stream_ping: Some(Duration::from_millis(100)),
        };
        let text = "max_connections = 9\nmax_streams = 8\nmax_stream_events = 7\nmax_requests_per_second = 6\n\
                    max_body_octets = 5000\nread_timeout_ms = 4\nresponse_timeout_ms = 3\nconnection_lifetime_ms = 2\n\
                    stream_ping_ms = 100";
        assert_eq!(limits(text), Ok(expected.clone()));
        let mut config = ServerConfig::new("127.0.0.1:0".parse().unwrap());
        expected.apply(&mut config);
        assert_eq!((config.max_connections, config.max_streams, config.max_stream_events), (9, 8, 7));
        assert_eq!((config.max_requests_per_second, config.max_body_octets), (6, 5000));
        assert_eq!(config.stream_ping, Duration::from_millis(100));
        for key in REST_LIMITS.keys {
            for value in ["0", "-1", "99999999999", "\"x\""] {
                let error = limits(&format!("{key} = {value}")).unwrap_err().to_string();
                assert!(error.contains(key), "{key} = {value}: {error}");
            }
        }
        assert!(limits("max_conections = 1").unwrap_err().to_string().contains("did you mean `max_connections`?"));
    }

    fn bind(text: &str) {
        let text =
            format!("e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"127.0.0.1:0\"\n{text}");
        drop(crate::bind(RicConfig::from_toml(&text).unwrap()));
    }

    #[test]
    #[should_panic = "load them into ServerConfig::access"]
    fn access_files_that_are_not_loaded_are_a_bug() {
        bind("[rest_access]\ntokens = \"t\"");
    }

    #[cfg(feature = "slicing")]
    #[test]
    #[should_panic = "load it into RicConfig::rules"]
    fn rule_file_that_is_not_loaded_is_a_bug() {
        bind("rest_rules = \"rules.json\"");
    }
}
