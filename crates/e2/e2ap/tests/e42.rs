//! Messages of E42, compared with an independent encoder and with recorded messages of FlexRIC.

mod common;

use std::path::Path;

use common::{Random, unhex};
use e2ap::Kind;
use e2ap::e42::{E42Pdu, E42Version, decode};
use per::Gather;

/// Every vector of the project: its name, version and octets.
fn every_vector() -> Vec<(std::path::PathBuf, E42Version, Vec<u8>)> {
    let mut all = Vec::new();
    for version in E42Version::ALL {
        let dir = common::vectors().join(format!("../e42/v{version}"));
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                all.push((path.clone(), version, unhex(&std::fs::read_to_string(&path).unwrap())));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn vectors_decode_to_json_and_encode_to_same_octets() {
    let update = std::env::var_os("UPDATE_VECTORS").is_some();
    let mut names = std::collections::BTreeMap::new();
    for (path, version, octets) in every_vector() {
        let name = path.display();
        let gather = Gather::new();
        let pdu = decode(&octets, version, &gather).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!matches!(pdu, E42Pdu::E2ap(_)), "{name}");
        let meaning = format!("{}\n", common::json(&pdu));
        let file = path.with_extension("json");
        if update {
            std::fs::write(&file, &meaning).unwrap();
        }
        assert_eq!(meaning, std::fs::read_to_string(&file).unwrap(), "{name}");
        let mut again = Vec::new();
        pdu.encode(version, &mut again).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, octets, "{name}");
        names.entry(version).or_insert_with(std::collections::BTreeSet::new).insert(pdu.name());
    }
    assert!(names.len() == 3 && names.values().all(|names| names.len() == 5), "{names:?}");
}

#[test]
fn messages_of_another_version_are_rejected() {
    for (path, version, octets) in every_vector() {
        for other in E42Version::ALL.into_iter().filter(|other| *other != version) {
            let gather = Gather::new();
            let read = decode(&octets, other, &gather);
            let is_same = |pdu: &E42Pdu<'_>| {
                let mut again = Vec::new();
                pdu.encode(other, &mut again).is_ok() && again == octets
            };
            // the octets have another code in this version: they are another message, or none
            assert!(!read.as_ref().is_ok_and(is_same), "{} as v{other}", path.display());
        }
    }
}

#[test]
fn e2ap_messages_are_decoded_as_in_e2ap() {
    let response = common::vector("v02.03/ric_subscription_response");
    let gather = Gather::new();
    let pdu = decode(&response, E42Version::V2, &gather).unwrap();
    assert_eq!(pdu.name(), "RicSubscriptionResponse");
    let mut again = Vec::new();
    pdu.encode(E42Version::V2, &mut again).unwrap();
    assert_eq!(again, response);
}

#[test]
fn errors_contain_the_ie() {
    let vector = |name: &str| {
        let path = common::vectors().join(format!("../e42/v2/{name}.hex"));
        unhex(&std::fs::read_to_string(path).unwrap())
    };
    let error_of = |octets: &[u8]| {
        let gather = Gather::new();
        decode(octets, E42Version::V2, &gather).expect_err("not a message").to_string()
    };
    let delete = vector("subscription_delete_request");
    // the first IE of three has an unknown id and criticality reject
    let mut unknown = delete.clone();
    unknown[8] = 77;
    assert!(error_of(&unknown).contains("IE 77"), "{}", error_of(&unknown));
    // with criticality ignore the unknown IE is skipped; the xApp id is missing
    unknown[9] = 0x40;
    assert!(
        error_of(&unknown).contains("xapp_id) in the initiating message") && error_of(&unknown).contains("missing")
    );
    // a repeated IE
    let mut twice = vector("subscription_delete_request");
    twice[13..15].copy_from_slice(&[0, 62]);
    assert!(error_of(&twice).contains("repeated"), "{}", error_of(&twice));
    // a response with the procedure code of E42
    let mut answer = delete.clone();
    answer[0] = 0x20;
    assert!(error_of(&answer).contains("successful outcome of"), "{}", error_of(&answer));
    // a node without its functions, as the last IE of a response
    let (response, gather) = (vector("setup_response"), Gather::new());
    let E42Pdu::SetupResponse(read) = decode(&response, E42Version::V2, &gather).unwrap() else { panic!() };
    let mut changed = read.clone();
    changed.nodes =
        read.nodes.iter().cloned().map(|node| e2ap::e42::ConnectedNode { components: None, ..node }).collect();
    let error = E42Pdu::SetupResponse(changed).encode(E42Version::V2, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("components"), "{error}");
    // a node without its components: the IE has another id, and may be ignored
    let id = [0, 50];
    let at = response.windows(2).position(|octets| octets == id).expect("a node has components");
    let mut without = response.clone();
    without[at..at + 3].copy_from_slice(&[0, 200, 0x40]);
    assert!(error_of(&without).contains("components"), "{}", error_of(&without));
}

#[test]
fn modified_vectors_decode_or_fail() {
    let mut random = Random(42);
    let mut read = 0;
    for (_, version, octets) in every_vector() {
        for end in 0..octets.len().min(300) {
            let gather = Gather::new();
            assert!(decode(&octets[..end], version, &gather).is_err());
        }
        for _ in 0..300 {
            let mut changed = octets.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(changed.len().min(200));
                changed[at] = random.below(256) as u8;
            }
            let gather = Gather::new();
            if let Ok(pdu) = decode(&changed, version, &gather) {
                read += 1;
                // a decoded message can be formatted and, unless it has a value that the wire format does not have, encoded
                common::json(&pdu);
                let _ = pdu.encode(version, &mut Vec::new());
            }
        }
    }
    assert!(read > 500, "{read}");
}

/// Recorded messages between FlexRIC's xApps and its RIC, if they are beside the project.
#[test]
fn recorded_flexric_messages_round_trip() {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("../shared/vectors/flexric-e2ap-v2.json"))
        .find(|file| file.is_file());
    let Some(found) = found else {
        println!("NOT TESTED: recorded messages of FlexRIC's xApps (no ../shared/vectors)");
        return;
    };
    let all: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(found).unwrap()).unwrap();
    let mut count = 0;
    for kind in all["vectors"].as_array().unwrap() {
        let is_e42 = kind["procedure"].as_str().unwrap().starts_with("E42");
        for sample in kind["samples"].as_array().unwrap() {
            let octets = unhex(sample["hex"].as_str().unwrap());
            let name = format!("{} {}", kind["procedure"], sample["sender"]);
            let gather = Gather::new();
            let pdu = decode(&octets, E42Version::V2, &gather).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(matches!(pdu, E42Pdu::E2ap(_)), !is_e42, "{name}");
            if is_e42 {
                let mut again = Vec::new();
                pdu.encode(E42Version::V2, &mut again).unwrap();
                assert_eq!(again, octets, "{name}");
                let outline = e2ap::peek::outline(&octets).unwrap();
                assert_eq!(outline.kind == Kind::Successful, pdu.name() == "E42SetupResponse");
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn ies_in_any_order_are_decoded_and_duplicates_refused() {
    use e2ap::e42::{E42SubscriptionDeleteRequest, XappId};
    let (request_id, ran_function_id) = (e2ap::RicRequestId { requestor: 7, instance: 1 }, e2ap::RanFunctionId(2));
    let request = E42SubscriptionDeleteRequest { xapp_id: XappId(3), request_id, ran_function_id };
    let expected = E42Pdu::SubscriptionDeleteRequest(request);
    let mut ordered = Vec::new();
    expected.encode(E42Version::V2, &mut ordered).unwrap();
    // three short IEs
    let (head, mut rest) = ordered.split_at(7);
    let mut ies = Vec::new();
    while let [_, _, _, length, ..] = *rest {
        let (ie, more) = rest.split_at(4 + usize::from(length));
        ies.push(ie);
        rest = more;
    }
    assert_eq!(ies.len(), 3);
    let gather = Gather::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let octets = [head, &order.map(|at| ies[at]).concat()].concat();
        assert_eq!(decode(&octets, E42Version::V2, &gather).unwrap(), expected, "{order:?}");
        // one of them twice
        for again in ies.iter().copied() {
            let mut octets = [&octets, again].concat();
            octets[3] += again.len() as u8;
            octets[6] += 1;
            let error = decode(&octets, E42Version::V2, &gather).unwrap_err();
            assert!(error.to_string().contains("is repeated"), "{error}");
        }
    }
}
