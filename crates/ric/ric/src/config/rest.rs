//! `[rest_access]`.

use std::path::PathBuf;

use ferric::link::TlsServerFiles;
use serde::Deserialize;

use super::ConfigError;
use crate::RestFiles;

pub(super) const KEYS: &[&str] = &["certificate", "key", "client_ca", "tokens"];

#[derive(Deserialize)]
pub(super) struct FileRestAccess {
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    client_ca: Option<PathBuf>,
    tokens: Option<PathBuf>,
}

impl FileRestAccess {
    pub(super) fn files(self) -> Result<RestFiles, ConfigError> {
        let FileRestAccess { certificate, key, client_ca, tokens } = self;
        let bad = |key, why: &str| Err(ConfigError::BadValue { key, why: why.to_owned() });
        let tls = match (certificate, key, client_ca) {
            (Some(certificate), Some(key), client_ca) => Some(TlsServerFiles { certificate, key, client_ca }),
            (None, None, None) => None,
            (Some(_), None, _) => return bad("certificate", "it needs its `key` too"),
            (None, Some(_), _) => return bad("key", "it needs its `certificate` too"),
            (None, None, Some(_)) => return bad("client_ca", "without `certificate` and `key` there is no TLS"),
        };
        Ok(RestFiles { tls, tokens })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn files() {
        let files =
            |text: &str| RicConfig::from_toml(&format!("[rest_access]\n{text}")).map(|config| config.rest_files);
        let tls = TlsServerFiles { certificate: "c.pem".into(), key: "c.key".into(), client_ca: None };
        assert_eq!(files(""), Ok(RestFiles::default()));
        assert_eq!(files("tokens = \"t\""), Ok(RestFiles { tls: None, tokens: Some("t".into()) }));
        let all = files("certificate = \"c.pem\"\nkey = \"c.key\"\nclient_ca = \"ca.pem\"\ntokens = \"t\"").unwrap();
        assert_eq!(all.tls, Some(TlsServerFiles { client_ca: Some("ca.pem".into()), ..tls.clone() }));
        assert_eq!(files("certificate = \"c.pem\"\nkey = \"c.key\"").unwrap().tls, Some(tls));
        let says = |text: &str| files(text).unwrap_err().to_string();
        assert_eq!(says("certificate = \"c\""), "certificate: it needs its `key` too");
        assert_eq!(says("key = \"c\""), "key: it needs its `certificate` too");
        assert!(says("client_ca = \"c\"").starts_with("client_ca: without `certificate`"));
        assert_eq!(says("token = \"c\""), "unknown key `token`; did you mean `tokens`?");
    }

    fn bind(text: &str) {
        let text =
            format!("e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"127.0.0.1:0\"\n{text}");
        drop(crate::bind(RicConfig::from_toml(&text).unwrap()));
    }

    #[test]
    #[should_panic = "load them into RestConfig::access"]
    fn rest_is_not_open_where_the_files_that_keep_others_out_are_not_loaded() {
        bind("[rest_access]\ntokens = \"t\"");
    }

    #[test]
    #[should_panic = "load it into RicConfig::rules"]
    fn rules_that_are_to_be_kept_are_loaded() {
        bind("rest_rules = \"rules.json\"");
    }
}
