//! `[sdl]`.

use std::path::PathBuf;

use ::sdl::{Config, MAX_ADDRESSES};
use settings::reference::names;
use settings::{Table, TableKeys};
use shared_store::{RedisUrlError, StoreUrl};

use super::super::reference::SDL_KEYS;
use super::{ConfigError, integer, set};
use crate::RicConfig;

pub(super) const SDL: TableKeys = TableKeys { name: "[sdl]", keys: &names(&SDL_KEYS) };

/// Reads the table: what the shared data layer is started with, or the Redis server that it is, and the file of its tokens.
pub(super) fn read(file: &Table<'_>, ric: &mut RicConfig) -> Result<(), ConfigError> {
    let Some(table) = file.table("sdl", &SDL)? else { return Ok(()) };
    const URL: &str = "the URL of an address, or of a Redis server";
    let urls = if table.is_array("url") { table.texts("url", MAX_ADDRESSES, URL)? } else { None };
    let urls = urls.map_or_else(|| table.text("url", URL).map(|url| url.into_iter().collect()), Ok)?;
    let [url, others @ ..] = &urls[..] else { return Err(table.missing("url", URL)) };
    if others.is_empty() && StoreUrl::is_one(url) {
        ric.sdl_redis = Some(url.parse().map_err(|reason: RedisUrlError| table.invalid("url", reason.to_string()))?);
        return match table.present_keys().find(|key| *key != "url") {
            Some(key) => Err(table.invalid(key, "concerns the embedded store, and `url` is that of a Redis server")),
            None => Ok(()),
        };
    }
    let address = |url: &&str| Config::address(url).map_err(|reason| table.invalid("url", reason));
    let mut config = Config::new(address(url)?);
    config.addresses.extend(others.iter().map(address).collect::<Result<Vec<_>, _>>()?);
    config.file = table.text("file", "a file")?.map(PathBuf::from);
    set(&mut config.requires_certificate, table.boolean("require_certificate")?);
    let limits = &mut config.limits;
    set(&mut limits.max_octets, integer(&table, &SDL_KEYS, "max_octets")?);
    set(&mut limits.max_namespace_percent, integer(&table, &SDL_KEYS, "max_namespace_percent")?);
    set(&mut limits.max_request_octets, integer(&table, &SDL_KEYS, "max_request_octets")?);
    set(&mut limits.max_queue_octets, integer(&table, &SDL_KEYS, "max_queue_octets")?);
    set(&mut limits.max_buffer_octets, integer(&table, &SDL_KEYS, "max_buffer_octets")?);
    set(&mut limits.max_connections, integer(&table, &SDL_KEYS, "max_connections")?);
    ric.sdl = Some(config);
    ric.sdl_tokens = table.text("tokens", "a file")?.map(PathBuf::from);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_files_and_bounds_are_read() {
        let text = "[sdl]\nurl = \"tcp://127.0.0.1\"\nfile = \"sdl.redb\"\ntokens = \"sdl.tokens\"\nmax_octets = 65536\n\
                    max_namespace_percent = 100\nmax_request_octets = 1024\nmax_queue_octets = 4096\nmax_buffer_octets = 65536\n\
                    max_connections = 7\nrequire_certificate = true";
        let config = RicConfig::from_toml(text).unwrap();
        assert_eq!(config.sdl_tokens, Some("sdl.tokens".into()));
        let sdl = config.sdl.unwrap();
        assert_eq!(sdl.addresses, ["tcp://127.0.0.1:6379".parse().unwrap()]);
        assert_eq!(sdl.file, Some("sdl.redb".into()));
        assert!(sdl.requires_certificate);
        let limits = sdl.limits;
        assert_eq!((limits.max_octets, limits.max_namespace_percent, limits.max_connections), (65536, 100, 7));
        assert_eq!((limits.max_request_octets, limits.max_queue_octets, limits.max_buffer_octets), (1024, 4096, 65536));
        let least = RicConfig::from_toml("[sdl]\nurl = \"unix:/run/sdl.socket\"").unwrap().sdl.unwrap();
        assert_eq!(least, Config::new("unix:/run/sdl.socket".parse().unwrap()));
        let both =
            RicConfig::from_toml("[sdl]\nurl = [\"tcp://127.0.0.1\", \"tls://0.0.0.0:6380\"]").unwrap().sdl.unwrap();
        assert_eq!(both.addresses, ["tcp://127.0.0.1:6379", "tls://0.0.0.0:6380"].map(|url| url.parse().unwrap()));
    }

    #[test]
    fn redis_takes_the_place_of_the_embedded_store() {
        let config = RicConfig::from_toml("[sdl]\nurl = \"redis+sentinel://a,b/ran\"").unwrap();
        assert_eq!((config.sdl, config.sdl_redis), (None, "redis+sentinel://a,b/ran".parse().ok()));
    }

    #[test]
    fn mistakes_are_located() {
        let error = |text: &str| RicConfig::from_toml(&format!("[sdl]\n{text}")).unwrap_err().to_string();
        assert!(error("").contains("missing key `url`"), "{}", error(""));
        assert!(error("url = []").contains("missing key `url`"), "{}", error("url = []"));
        let with_redis = error("url = [\"tcp://127.0.0.1\", \"redis://127.0.0.1\"]");
        assert!(with_redis.starts_with("line 2: sdl: url: "), "{with_redis}");
        assert!(error("url = \"http://127.0.0.1\"").starts_with("line 2: sdl: url: "), "{}", error("url = \"x\""));
        let of_redis = error("url = \"redis+cluster://a,b\"\nmax_octets = 65536");
        assert!(of_redis.starts_with("line 3: sdl: max_octets: concerns the embedded store"), "{of_redis}");
        let with_url = |text: &str| error(&format!("url = \"tcp://127.0.0.1\"\n{text}"));
        assert!(with_url("max_namespace_percent = 101").contains("101 is out of range 1 to 100"));
        assert!(with_url("fil = \"x\"").contains("did you mean `file`?"), "{}", with_url("fil = \"x\""));
    }
}
