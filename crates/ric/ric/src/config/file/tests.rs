//! Configuration files and mistakes in them.

use ferric::e2ap::Version;

use e2sm::kpm::Revision;

use super::*;

#[test]
fn every_key_is_read() {
    let config = RicConfig::from_toml(
        r#"
        e2 = ["tcp://127.0.0.1:1", "unix:/run/e2"]
        xapp = "tcp://[::1]:2"
        rest = "[::1]:0"
        rest_rules = "rules.json"
        conflicts = "conflicts.toml"
        audit = "audit.log"
        plmn = "310410"
        ric_id = 0xABCDE
        e2ap = "3.01"
        loops = 2
        affinity_links = 3
        ipsec = true
        node_takeover = "dead-only"
        max_nodes = 2
        max_octets_of_nodes = 4096
        max_host_percent = 50
        max_setups_per_second = 7
        max_connections = 11
        max_xapp_connections = 12
        max_e42_connections = 13
        max_log_lines = 9
        max_pdu_octets = 2048
        max_receive_octets = 100_000
        max_send_octets = 200_000
        pdu_timeout_ms = 30
        control_timeout_ms = 10
        modification_timeout_ms = 20
        query_timeout_ms = 30
        answer_stray_indications = true
        strict_ie_order = true
        [[node]]
        id = "gnb-00101-e00"
        kpm = "2.01"
        e2ap = "3.01"
        "#,
    )
    .unwrap();
    assert_eq!(config.server.e2.len(), 2);
    assert_eq!(config.conflicts_file.unwrap().to_str(), Some("conflicts.toml"));
    assert_eq!(config.audit_file.unwrap().to_str(), Some("audit.log"));
    assert_eq!(config.server.xapp.unwrap().to_string(), "tcp://[::1]:2");
    let of_port = RicConfig::from_toml("xapp = \"tcp://ric.example\"").unwrap().server.xapp;
    assert_eq!(of_port.unwrap().to_string(), "tcp://ric.example:36423");
    assert_eq!(config.server.controller.ric_id.to_string(), "ric-310410-abcde");
    assert_eq!((config.server.loops, config.server.affinity_links), (2, 3));
    assert!(config.server.ipsec);
    assert_eq!(
        (config.server.max_connections, config.server.max_xapp_connections, config.server.max_e42_connections),
        (11, 12, 13)
    );
    assert_eq!(config.server.controller.max_host_percent, 50);
    assert_eq!(config.server.controller.max_setups_per_second, 7);
    assert_eq!(config.server.controller.node_takeover, ferric::e2::NodeTakeover::DeadOnly);
    assert_eq!(config.server.controller.max_nodes, 2);
    assert_eq!((config.server.controller.max_octets_of_nodes, config.server.max_log_lines), (4096, 9));
    let timers = &config.server.controller;
    let timers = [timers.control_timeout, timers.modification_timeout, timers.query_timeout];
    assert_eq!(timers, [10, 20, 30].map(Duration::from_millis));
    assert!(config.server.controller.answer_stray_indications && config.server.controller.strict_ie_order);
    let defaults = RicConfig::from_toml("").unwrap().server.controller;
    assert!(!defaults.answer_stray_indications && !defaults.strict_ie_order, "off by default");
    assert_eq!(config.server.link.max_pdu_octets, 2048);
    assert_eq!((config.server.max_receive_octets, config.server.max_send_octets), (Some(100_000), Some(200_000)));
    assert_eq!(config.server.pdu_timeout, Duration::from_millis(30));
    assert_eq!(config.server.controller.node_versions["gnb-00101-e00"], Version::V3_01);
    assert_eq!(config.nodes, [NodeConfig { id: "gnb-00101-e00".into(), kpm: Some(Revision::V2_01) }]);
}

fn error(text: &str) -> String {
    RicConfig::from_toml(text).unwrap_err().to_string()
}

#[test]
fn mistakes_are_located() {
    assert_eq!(error("xap = 1"), "line 1: unknown key `xap`; did you mean `xapp`?");
    assert!(error("quantum = 1").contains("the keys of the file are e2, xapp"));
    let node = "[[node]]\nid = \"x\"\nkmp = \"2.01\"";
    assert_eq!(error(node), "line 3: node[0]: unknown key `kmp`; did you mean `kpm`?");
    assert!(error("xapp = \"http://x\"").starts_with("line 1: xapp: "));
    assert!(error("max_pdu_octets = 1").starts_with("line 1: max_pdu_octets: 1 is out of range 1024 to"));
    assert_eq!(error("loops = 0"), "line 1: loops: 0 is out of range 1 to 64");
    assert_eq!(error("max_nodes = -1"), "line 1: max_nodes: -1 is out of range 1 to 1048576");
    assert_eq!(error("ric_id = -1"), "line 1: ric_id: -1 is out of range 0 to 1048575");
    assert_eq!(error("setup_timeout_ms = -5"), "line 1: setup_timeout_ms: -5 is out of range 1 to 3600000");
    assert!(error("plmn = \"12\"").starts_with("line 1: plmn: `12` is not"));
    assert!(error("e2 = 7").contains("line 1"), "{}", error("e2 = 7"));
    assert!(error("e2 = [").contains("line 1"));
}

#[cfg(feature = "slicing")]
#[test]
fn rest_is_configured() {
    let config = RicConfig::from_toml("rest = \"[::1]:0\"\nrest_rules = \"rules.json\"").unwrap();
    assert_eq!(config.rest.unwrap().address.to_string(), "[::1]:0");
    assert_eq!(config.rules_file.unwrap().to_str(), Some("rules.json"));
    assert_eq!(
        error("rest = \"localhost\""),
        "line 1: rest: `localhost` is not an address and a port, such as 127.0.0.1:8080"
    );
}

#[cfg(not(feature = "redis"))]
#[test]
fn key_of_a_missing_feature_is_refused() {
    assert_eq!(error("[redis]"), "line 1: redis: this program was built without the feature `redis`");
}

/// `docs/security.md` lists each key that bounds what peers may use.
#[test]
fn every_limit_is_in_the_security_page() {
    let document = include_str!("../../../../../../docs/security.md");
    for key in FILE.keys.iter().filter(|key| key.starts_with("max_") || key.ends_with("timeout_ms")) {
        assert!(document.contains(&format!("`{key}`")), "no row for {key}");
    }
    #[cfg(feature = "rest")]
    for key in rest::REST_LIMITS.keys {
        assert!(document.contains(&format!("`{key}`")), "no row for {key} of REST");
    }
    for key in ["outbox_octets", "node_takeover"] {
        assert!(FILE.keys.contains(&key) && document.contains(&format!("`{key}`")), "{key}");
    }
}

#[cfg(all(feature = "tls", feature = "slicing", feature = "redis"))]
#[test]
fn documented_example_is_valid() {
    let document = include_str!("../../../../../../docs/configuration.md");
    let (_, example) = document.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let config = RicConfig::from_toml(example).unwrap();
    assert_eq!((config.server.e2.len(), config.server.loops, config.nodes.len()), (2, 2, 1));
}
