//! Tests of the configuration of messaging.

use super::*;

#[test]
fn address_is_one_of_tcp() {
    assert_eq!(MessagingConfig::address("tcp://127.0.0.1").unwrap().to_string(), "tcp://127.0.0.1:4561");
    assert_eq!(MessagingConfig::address("tcp://[::1]:5000").unwrap().to_string(), "tcp://[::1]:5000");
    let error = MessagingConfig::address("sctp://127.0.0.1").unwrap_err();
    assert!(error.contains("use tcp://HOST:PORT"), "{error}");
    assert!(MessagingConfig::address("http://127.0.0.1").is_err());
}

#[test]
fn records_are_checked_as_an_xapp_does() {
    let routes = MessagingConfig::routes("# xApps\n\n mse|30000|-1|a:1,b:1\nrte|30001|a:1\n").unwrap();
    assert_eq!(routes, ["mse|30000|-1|a:1,b:1", "rte|30001|a:1"]);
    let error = |text: &str| MessagingConfig::routes(text).unwrap_err();
    assert_eq!(error("mse|30000|-1|a"), "`a` is not an endpoint HOST:PORT");
    assert_eq!(error("mse|x|-1|a:1"), "`x` is not a message type");
    assert!(error("newrt|end").starts_with("`newrt|end` is no record"));
    assert!(error("meid_map|start").starts_with("`meid_map|start` is no record"));
}

#[test]
fn endpoint_of_an_ipv6_address_has_brackets() {
    assert_eq!(endpoint_name("::1", 5), "[::1]:5");
    assert_eq!(endpoint_name("10.0.0.1", 5), "10.0.0.1:5");
    assert_eq!(endpoint_name("xapp.example", 5), "xapp.example:5");
}
