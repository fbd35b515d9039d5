//! `[redis]`.

use std::path::PathBuf;

use settings::reference::names;
use settings::{Table, TableKeys};
use traffic::{RedisConfig, RedisFiles};

use super::super::reference::REDIS_KEYS;
use super::{ConfigError, integer, set};

pub(super) const REDIS: TableKeys = TableKeys { name: "[redis]", keys: &names(&REDIS_KEYS) };

/// The longest common part of the names of channels and streams.
const MAX_PREFIX: usize = 128;

pub(super) fn config(file: &Table<'_>) -> Result<Option<RedisConfig>, ConfigError> {
    let Some(table) = file.table("redis", &REDIS)? else { return Ok(None) };
    let url = table.parsed("url", "the URL of a Redis server")?;
    let mut config = RedisConfig::new(url.ok_or_else(|| table.missing("url", "the URL of a Redis server"))?);
    let path = |key| Ok::<_, ConfigError>(table.text(key, "a file")?.map(PathBuf::from));
    let own = match (path("certificate")?, path("key")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => return Err(table.invalid("certificate", "requires `key`")),
        (None, Some(_)) => return Err(table.invalid("key", "requires `certificate`")),
    };
    config.files = RedisFiles { ca: path("ca")?, own, password: path("password")? };
    set(&mut config.period_ms, integer(&table, &REDIS_KEYS, "period_ms")?);
    set(&mut config.stream_length, integer(&table, &REDIS_KEYS, "stream_length")?);
    if let Some(prefix) = table.text("prefix", "a name")? {
        if prefix.is_empty() || prefix.len() > MAX_PREFIX || prefix.contains(char::is_whitespace) {
            let reason = format!("`{prefix}` is not 1 to {MAX_PREFIX} octets without white space");
            return Err(table.invalid("prefix", reason));
        }
        config.prefix = prefix.to_owned();
    }
    set(&mut config.queue_octets, integer(&table, &REDIS_KEYS, "queue_octets")?);
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn server_and_bounds_are_read() {
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
    fn credentials_are_read() {
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
    fn mistakes_are_located() {
        let error = |text: &str| RicConfig::from_toml(&format!("[redis]\n{text}")).unwrap_err().to_string();
        let with_url = |text: &str| error(&format!("url = \"redis://127.0.0.1\"\n{text}"));
        assert!(error("uri = \"redis://127.0.0.1\"").contains("unknown key `uri`; did you mean `url`?"));
        assert!(error("").contains("missing key `url`"), "{}", error(""));
        assert!(error("url = \"http://127.0.0.1\"").contains("redis://[USER"), "{}", error("url = \"http://x\""));
        assert!(error("url = \"rediss://127.0.0.1/#insecure\"").contains("`#insecure` is not supported"));
        assert_eq!(with_url("certificate = \"c\""), "line 3: redis: certificate: requires `key`");
        assert_eq!(with_url("period_ms = 0"), "line 3: redis: period_ms: 0 is out of range 1 to 3600000");
        assert_eq!(with_url("period_ms = -1"), "line 3: redis: period_ms: -1 is out of range 1 to 3600000");
        assert!(with_url("period_ms = 0.5").contains("line 3"), "{}", with_url("period_ms = 0.5"));
        assert!(with_url("prefix = \"a b\"").contains("without white space"));
        assert!(with_url("queue_octets = 1").contains("queue_octets: 1 is out of range"));
    }
}
