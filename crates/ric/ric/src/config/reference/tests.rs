//! The declarations are what the reader takes, and what `docs/configuration.md` and the default file say.

use std::path::Path;

use super::*;

/// The sections, what must be in a table beside the tested key, and the headings of the document.
fn sections() -> impl Iterator<Item = (Section, Vec<&'static Key>)> {
    SECTIONS.into_iter().map(|section| {
        let is_required = |key: &&Key| matches!(key.default, DefaultValue::Required { .. });
        (section, section.keys.iter().filter(is_required).collect())
    })
}

/// A file with one key of a section, and those that the section requires.
fn file(section: Section, required: &[&Key], name: &str, value: &str) -> String {
    let others = required.iter().filter(|key| key.name != name);
    let others: String = others.map(|key| format!("{} = {}\n", key.name, key.default.example())).collect();
    // a certificate and its key are given together
    let pair = match (section.header, name) {
        ("[rest_access]" | "[redis]", "certificate" | "client_ca") => "key = \"a.key\"\n",
        ("[alarms]", "ca" | "token") => "alert_manager = \"https://127.0.0.1:9093\"\n",
        _ => "",
    };
    let pair = match (section.header, name) {
        ("[rest_access]" | "[redis]", "key") | ("[rest_access]", "client_ca") => {
            format!("{pair}certificate = \"a.pem\"\n")
        }
        ("[[xapp_rights]]", "rmr" | "read" | "control") => format!("{pair}certificate = \"a\"\n"),
        _ => pair.to_owned(),
    };
    format!("{}\n{others}{pair}{name} = {value}\n", section.header)
}

#[test]
fn declared_values_are_those_that_are_read() {
    for (section, required) in sections() {
        for key in section.keys {
            let read = |value: &str| RicConfig::from_toml(&file(section, &required, key.name, value));
            let refused = |value: &str| {
                let error = read(value).map(drop).expect_err(&format!("{} {} = {value}", section.header, key.name));
                assert!(error.to_string().contains(key.name), "{error}");
            };
            match key.values {
                Values::Integer(least, most) => {
                    [least, most].into_iter().for_each(|value| drop(read(&value.to_string()).unwrap()));
                    [least - 1, most + 1].into_iter().for_each(|value| refused(&value.to_string()));
                    refused("\"1\"");
                }
                Values::Boolean => {
                    ["true", "false"].into_iter().for_each(|value| drop(read(value).unwrap()));
                    refused("1");
                }
                Values::Words(words) => {
                    words.iter().for_each(|word| drop(read(&format!("\"{word}\"")).unwrap()));
                    refused("\"no such word\"");
                }
                Values::Other(_) => {
                    read(key.default.example()).unwrap_or_else(|error| panic!("{} {error}", section.header));
                    refused("{}");
                }
                Values::Tables(_) => refused("1"),
            }
        }
    }
}

#[test]
fn declared_defaults_are_those_in_force() {
    let rest = |config: &RicConfig| {
        let mut rest = ::rest::ServerConfig::new(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
        config.rest_limits.apply(&mut rest);
        format!("{:?}", rest)
    };
    let in_force = |config: &RicConfig| {
        let mut config = config.clone();
        let rest = rest(&config);
        config.rest_limits = crate::RestLimits::default();
        // without an address, the settings of E42 have no effect
        let e42 = config.server.e42.take().unwrap_or_default();
        let log = config.log.take().unwrap_or(tracing::level_filters::LevelFilter::INFO);
        let xapp = config.server.xapp.take().map(|xapp| xapp.to_string());
        format!("{config:?} {rest} {e42:?} {log} {xapp:?}")
    };
    let mut checked = 0;
    for (section, required) in sections() {
        for key in section.keys {
            let DefaultValue::Is(value) = key.default else { continue };
            let with = RicConfig::from_toml(&file(section, &required, key.name, value)).unwrap();
            let any = required
                .first()
                .map_or(String::new(), |first| file(section, &required, first.name, first.default.example()));
            let without = RicConfig::from_toml(&any).unwrap();
            assert_eq!(in_force(&with), in_force(&without), "{} {}", section.header, key.name);
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn default_file_is_valid_with_and_without_its_comments() {
    let text = RicConfig::default_file(&[]).unwrap();
    assert_eq!(format!("{:?}", RicConfig::from_toml(&text)), format!("{:?}", RicConfig::from_toml("")));
    // a commented key has no space after the mark, a sentence has one
    let is_sentence = |line: &str| line.starts_with("# ") || line == "#";
    let all: Vec<_> = text.lines().filter(|line| !is_sentence(line)).map(|line| line.trim_start_matches('#')).collect();
    let config = RicConfig::from_toml(&all.join("\n")).unwrap();
    assert!(config.tls.is_some() && config.redis.is_some() && config.rules_file.is_some() && config.nodes.len() == 1);
    for (section, _) in sections() {
        for key in section.keys.iter().filter(|key| !matches!(key.values, Values::Tables(_))) {
            assert!(all.iter().any(|line| line.starts_with(&format!("{} = ", key.name))), "{}", key.name);
        }
    }
}

#[test]
fn keys_of_the_default_file_can_be_set() {
    let set = [("rest", "\"127.0.0.1:8080\""), ("rest_access.tokens", "\"rest.tokens\""), ("max_nodes", "7")];
    let config = RicConfig::from_toml(&RicConfig::default_file(&set).unwrap()).unwrap();
    assert!(config.rest.is_some() && config.rest_files.tokens.is_some() && config.server.controller.max_nodes == 7);
    let error = |set: &[(&str, &str)]| RicConfig::default_file(set).unwrap_err().to_string();
    assert!(error(&[("rset", "1")]).starts_with("`rset` is not a key of the file"));
    assert!(error(&[("node.id", "\"x\"")]).starts_with("`node.id` is not a key"));
    assert!(error(&[("max_nodes", "0")]).contains("max_nodes: 0 is out of range 1 to 1048576"));
    assert!(error(&[("max_nodes", "1\nx = 1")]).contains("unknown key `x`"));
    assert!(error(&[("redis.period_ms", "5")]).contains("missing key `url`"));
}

/// Replaces the table of keys in a section of the document.
fn replace_table(document: &str, heading: &str, keys: &[Key]) -> String {
    let start = document.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let table = start + document[start..].find("\n| key ").expect("a table") + 1;
    let length = document[table..].find("\n\n").map_or(document.len() - table, |length| length + 1);
    format!("{}{}{}", &document[..table], reference::markdown(keys), &document[table + length..])
}

/// `FERRIC_BLESS=1 cargo test -p ferric-ric --lib document_has_the_declared_keys` writes the tables of the document.
#[test]
fn document_has_the_declared_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/configuration.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut expected = replace_table(&text, "A grant", &GRANT_KEYS);
    for Section { header, keys } in SECTIONS {
        let heading = if header.is_empty() { "Top level".to_owned() } else { format!("`{header}`") };
        expected = replace_table(&expected, &heading, keys);
    }
    if std::env::var_os("FERRIC_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        let command = "FERRIC_BLESS=1 cargo test -p ferric-ric --lib document_has_the_declared_keys";
        assert!(text == expected, "docs/configuration.md differs from the declared keys; `{command}` updates it");
    }
}
