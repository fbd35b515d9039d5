//! The octets are those of an independent encoder.

use e2sm::common::{Sd, Sst};
use radio::phy::{Carrier, Duplex};

use super::*;

const GNB: u32 = 0xe05;

fn networks() -> Vec<ServedNetwork> {
    let slice = |sst, sd: Option<[u8; 3]>| SNssai { sst: Sst([sst]), sd: sd.map(Sd) };
    vec![
        ServedNetwork { plmn: plmn(), slices: vec![slice(1, None), slice(2, Some([0, 0, 0xff]))] },
        ServedNetwork { plmn: PlmnIdentity::from_codes(999, 70, 2), slices: vec![slice(1, None)] },
    ]
}

macro_rules! vectors {
    ($($name:literal),*) => { [$(include_str!(concat!("../../../../../../vectors/interfaces/setup/", $name, ".hex")).trim()),*] };
}

fn digits(messages: [Octets<'static>; 2]) -> [String; 2] {
    messages.map(|octets| octets.to_cow().iter().map(|octet| format!("{octet:02x}")).collect())
}

#[test]
fn messages_are_the_protocols() {
    assert_eq!(digits(ng::setup(GNB, &networks())), vectors!["ngap-ng-setup-request", "ngap-ng-setup-response"]);
    assert_eq!(digits(s1::setup(GNB, &networks())), vectors!["s1ap-s1-setup-request", "s1ap-s1-setup-response"]);
    assert_eq!(digits(e1::setup(GNB, &networks())), vectors!["e1ap-setup-request", "e1ap-setup-response"]);
    let f1 = |carrier: Carrier| f1::setup(GNB, (GNB % 1008) as u16, &networks(), &carrier.check().unwrap()).map(digits);
    let tdd = vectors!["f1ap-f1-setup-request-tdd", "f1ap-f1-setup-response"];
    assert_eq!(f1(Carrier::default()).unwrap(), tdd);
    let fdd = Carrier {
        bandwidth_mhz: 10.0,
        numerology: 0,
        frequency_mhz: 2120.0,
        duplex: Duplex::Fdd,
        ..Carrier::default()
    };
    let vector = vectors!["f1ap-f1-setup-request-fdd", "f1ap-f1-setup-response"];
    assert_eq!(f1(fdd.clone()).unwrap(), vector);
    assert_eq!(f1(Carrier { frequency_mhz: 1000.0, ..fdd }), None, "in no band");
}
