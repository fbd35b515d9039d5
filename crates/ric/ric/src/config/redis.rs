//! `[redis]`.

use std::path::PathBuf;

use serde::Deserialize;

use super::{ConfigError, bounded, value};
use crate::traffic::{RedisConfig, RedisFiles};

pub(super) const KEYS: &[&str] =
    &["url", "ca", "certificate", "key", "password", "period_ms", "stream_length", "prefix", "queue_octets"];

/// The longest name of a channel or stream, without the model's.
const MAX_PREFIX: usize = 128;

#[derive(Deserialize)]
pub(super) struct FileRedis {
    url: String,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    password: Option<PathBuf>,
    period_ms: Option<i64>,
    stream_length: Option<i64>,
    prefix: Option<String>,
    queue_octets: Option<i64>,
}

impl FileRedis {
    pub(super) fn config(self) -> Result<RedisConfig, ConfigError> {
        let mut config = RedisConfig::new(value("url", &self.url)?);
        let bad = |key, why: &str| Err(ConfigError::BadValue { key, why: why.to_owned() });
        let own = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return bad("certificate", "it needs its `key` too"),
            (None, Some(_)) => return bad("key", "it needs its `certificate` too"),
        };
        config.files = RedisFiles { ca: self.ca, own, password: self.password };
        if let Some(ms) = self.period_ms {
            config.period_ms = bounded("period_ms", ms, 1, 3_600_000)? as u32; // it fits
        }
        if let Some(length) = self.stream_length {
            config.stream_length = bounded("stream_length", length, 0, 10_000_000)? as u32; // it fits
        }
        if let Some(prefix) = self.prefix {
            if prefix.is_empty() || prefix.len() > MAX_PREFIX || prefix.contains(char::is_whitespace) {
                let why = format!("`{prefix}` is not 1 to {MAX_PREFIX} octets without white space");
                return Err(ConfigError::BadValue { key: "prefix", why });
            }
            config.prefix = prefix;
        }
        if let Some(octets) = self.queue_octets {
            config.queue_octets = bounded("queue_octets", octets, 4096, 1 << 30)?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn where_statistics_go() {
        let text = r#"
            [redis]
            url = "redis://ric:secret@redis.example:6380/2"
            period_ms = 50
            stream_length = 0
            prefix = "cell"
            queue_octets = 65536
        "#;
        let config = RicConfig::from_toml(text).unwrap().redis.unwrap();
        assert_eq!((config.period_ms, config.stream_length, config.queue_octets), (50, 0, 65536));
        assert_eq!((&*config.prefix, &*config.url.to_string()), ("cell", "redis://redis.example:6380"));
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        let least = RicConfig::from_toml("[redis]\nurl = \"redis+unix:///run/redis.sock\"").unwrap().redis.unwrap();
        assert_eq!(least, RedisConfig::new("redis+unix:///run/redis.sock".parse().unwrap()));
        assert_eq!(least.url.to_string(), "redis+unix:///run/redis.sock");
        assert_eq!(RicConfig::from_toml("").unwrap().redis, None);
    }

    #[test]
    fn what_a_server_wants_to_see() {
        let text = r#"
            [redis]
            url = "rediss://redis.example"
            ca = "ca.pem"
            certificate = "ric.pem"
            key = "ric.key"
            password = "redis.password"
        "#;
        let config = RicConfig::from_toml(text).unwrap().redis.unwrap();
        assert_eq!(config.url.to_string(), "rediss://redis.example:6379");
        let own = Some(("ric.pem".into(), "ric.key".into()));
        assert_eq!(
            config.files,
            RedisFiles { ca: Some("ca.pem".into()), own, password: Some("redis.password".into()) }
        );
    }

    #[test]
    fn mistakes() {
        let says = |text: &str| RicConfig::from_toml(&format!("[redis]\n{text}")).unwrap_err().to_string();
        let also = |text: &str| says(&format!("url = \"redis://127.0.0.1\"\n{text}"));
        assert_eq!(says("uri = \"redis://127.0.0.1\""), "unknown key `uri`; did you mean `url`?");
        assert!(says("").contains("url"), "{}", says(""));
        assert!(says("url = \"http://127.0.0.1\"").contains("a server is redis://"), "{}", says("url = \"http://x\""));
        assert!(says("url = \"rediss://127.0.0.1/#insecure\"").contains("`#insecure` is not taken"));
        assert_eq!(also("certificate = \"c\""), "certificate: it needs its `key` too");
        assert_eq!(also("period_ms = 0"), "period_ms: 0 is not between 1 and 3600000");
        assert_eq!(also("period_ms = -1"), "period_ms: -1 is not between 1 and 3600000");
        assert!(also("period_ms = 0.5").contains("line 3"), "{}", also("period_ms = 0.5"));
        assert!(also("prefix = \"a b\"").contains("without white space"));
        assert!(also("queue_octets = 1").starts_with("queue_octets: 1 is not between"));
    }
}
