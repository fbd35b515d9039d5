//! `[peers]`.

use settings::reference::names;
use settings::{Table, TableKeys};

use super::super::reference::PEERS_KEYS;
use super::{ConfigError, period, set};
use crate::SharedNodes;

pub(super) const PEERS: TableKeys = TableKeys { name: "[peers]", keys: &names(&PEERS_KEYS) };

pub(super) fn config(file: &Table<'_>) -> Result<Option<SharedNodes>, ConfigError> {
    let Some(table) = file.table("peers", &PEERS)? else { return Ok(None) };
    let url = table.parsed("url", "the URL of a Redis server, Redis Sentinel or Redis Cluster")?;
    let mut config = SharedNodes::new(url.ok_or_else(|| table.missing("url", "the URL of a Redis server"))?);
    let name = table.text("name", "a name")?.map(SharedNodes::name).transpose();
    config.name = name.map_err(|reason| table.invalid("name", reason))?;
    config.address = table.parsed("address", "an IP address and a port")?;
    set(&mut config.time_to_live, period(&table, &PEERS_KEYS, "time_to_live_ms")?);
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::RicConfig;

    #[test]
    fn store_name_and_address_are_read() {
        let text = "[peers]\nurl = \"redis+cluster://a,b\"\nname = \"ric-1\"\naddress = \"10.0.0.1:36421\"\ntime_to_live_ms = 2000";
        let config = RicConfig::from_toml(text).unwrap().peers.unwrap();
        assert_eq!(
            (config.url.to_string(), config.name),
            ("redis+cluster://a:6379,b:6379".into(), Some("ric-1".into()))
        );
        assert_eq!((config.address, config.time_to_live), ("10.0.0.1:36421".parse().ok(), Duration::from_secs(2)));
        let least = RicConfig::from_toml("[peers]\nurl = \"redis://a\"").unwrap().peers;
        assert_eq!(least, Some(SharedNodes::new("redis://a".parse().unwrap())));
        assert_eq!(RicConfig::from_toml("").unwrap().peers, None);
    }

    #[test]
    fn mistakes_are_located() {
        let error = |text: &str| RicConfig::from_toml(&format!("[peers]\n{text}")).unwrap_err().to_string();
        let with_url = |text: &str| error(&format!("url = \"redis://a\"\n{text}"));
        assert!(error("").contains("missing key `url`"), "{}", error(""));
        assert!(error("url = \"tcp://a\"").starts_with("line 2: peers: url: "), "{}", error("url = \"tcp://a\""));
        assert!(with_url("name = \"a b\"").contains("without white space"));
        assert!(with_url("address = \"a\"").starts_with("line 3: peers: address: "), "{}", with_url("address = \"a\""));
        assert!(with_url("time_to_live_ms = 1").contains("1 is out of range"));
        assert!(with_url("nam = \"a\"").contains("did you mean `name`?"));
    }
}
