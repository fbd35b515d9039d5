//! `rest` and `[rest_access]`.

use std::path::PathBuf;

use rest::{AccessFiles, ServerConfig, TlsFiles};
use settings::{Table, TableKeys};

use super::ConfigError;

pub(super) const REST_ACCESS: TableKeys =
    TableKeys { name: "[rest_access]", keys: &["certificate", "key", "client_ca", "tokens"] };

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
