//! The file of a topology: which parts are which base station.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use ferric::Endpoint;
use ferric::e2::topology::Part;
use ferric::e2ap::{GlobalE2NodeId, GnbId};
use ids::PlmnIdentity;
use settings::{Document, Element, Error, Table, TableKeys};

/// The maximum number of base stations.
const MAX_STATIONS: usize = 1024;
/// The maximum number of DUs of a base station: each function of each DU is one of the base station's, which has at most 255.
const MAX_DUS: usize = 16;
/// The largest file, in octets.
const MAX_FILE: u64 = 256 * 1024;
/// The bits of the id of a DU (TS 38.473 9.3.1.9).
const DU_ID_BITS: u32 = 36;
/// The bits of the longest gNB ID, and of the shortest.
const GNB_ID_BITS: std::ops::RangeInclusive<u8> = 22..=32;

const FILE: TableKeys = TableKeys { name: "the file", keys: &["ric", "base_station"] };
const STATION: TableKeys = TableKeys { name: "[[base_station]]", keys: &["gnb", "id", "dus"] };

/// A gNB, as `gnb-00101-e00` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GnbName {
    plmn: PlmnIdentity,
    number: u32,
}

/// A text that does not name a gNB.
#[derive(Clone, Copy, Debug)]
struct NotAGnb;

impl fmt::Display for NotAGnb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a gNB is `gnb-PLMN-NUMBER` with a hexadecimal number of at most 32 bits, such as gnb-00101-e00")
    }
}

impl FromStr for GnbName {
    type Err = NotAGnb;

    fn from_str(text: &str) -> Result<Self, NotAGnb> {
        let (plmn, number) = text.strip_prefix("gnb-").and_then(|rest| rest.split_once('-')).ok_or(NotAGnb)?;
        let is_hexadecimal = number.bytes().all(|digit| digit.is_ascii_hexdigit());
        Ok(GnbName {
            plmn: plmn.parse().map_err(|_| NotAGnb)?,
            number: u32::from_str_radix(number, 16).ok().filter(|_| is_hexadecimal).ok_or(NotAGnb)?,
        })
    }
}

impl fmt::Display for GnbName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gnb-{}-{:x}", self.plmn, self.number)
    }
}

/// The DUs of a base station.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Dus {
    /// All of the gNB.
    All,
    /// Those with these ids, at least one.
    These(BTreeSet<u64>),
    /// The gNB is in one piece.
    None,
}

/// A base station, as a controller is to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposedStation {
    gnb: GnbName,
    id: GnbName,
    dus: Dus,
}

/// The base stations that a controller is to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The address of the controller.
    pub ric: Endpoint,
    /// The base stations.
    pub stations: Vec<ExposedStation>,
}

impl fmt::Display for ExposedStation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl ExposedStation {
    /// The part of this base station that a node is; `None` if it belongs to another one.
    pub(super) fn part_of(&self, node: &GlobalE2NodeId) -> Option<Part> {
        let GlobalE2NodeId::Gnb(id) = node else { return None };
        let gnb = id.global_gnb_id;
        let part = Part::of(node);
        let is_own_part = match (&self.dus, part) {
            (Dus::All, _) | (Dus::These(_), Part::Control | Part::CuUp(_)) => true,
            (Dus::These(dus), Part::Du(du)) => dus.contains(&du),
            (Dus::None, part) => part == Part::Control,
        };
        let is_own_gnb = gnb.plmn_identity == self.gnb.plmn && gnb.gnb_id.value() == u64::from(self.gnb.number);
        (is_own_gnb && is_own_part).then_some(part)
    }

    /// Whether other base stations may have the same CU.
    pub(super) fn shares_cu(&self) -> bool {
        matches!(self.dus, Dus::These(_))
    }

    /// Whether it consists of several parts.
    pub(super) fn is_split(&self) -> bool {
        self.dus != Dus::None
    }

    /// The identity towards the controller, with as many bits as the gNB's own, if the number fits.
    pub(super) fn global_id(&self, of_part: &GlobalE2NodeId) -> GlobalE2NodeId {
        let own = match of_part {
            GlobalE2NodeId::Gnb(id) => {
                let GnbId::GnbId(bits) = id.global_gnb_id.gnb_id;
                bits.count
            }
            _ => *GNB_ID_BITS.start(),
        };
        let needed = (u32::BITS - self.id.number.leading_zeros()) as u8;
        let bits = own.max(needed).clamp(*GNB_ID_BITS.start(), *GNB_ID_BITS.end());
        GlobalE2NodeId::gnb(self.id.plmn, GnbId::new(self.id.number, bits))
    }
}

impl Topology {
    /// Reads a file.
    ///
    /// # Errors
    /// A text with the path, and the line and key at fault.
    pub fn load(path: &Path) -> Result<Topology, String> {
        let text = settings::read(path, MAX_FILE).map_err(|error| format!("{}: {error}", path.display()))?;
        Topology::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The line and the key at fault: an unknown key, a value out of range, a DU in two base stations, or two base stations with one
    /// identity.
    pub fn parse(text: &str) -> Result<Topology, Error> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        let ric = file.parsed::<Endpoint>("ric", "an address such as tcp://127.0.0.1:36431")?;
        let ric = ric.ok_or_else(|| file.missing("ric", "the controller that sees the base stations"))?;
        let mut stations: Vec<ExposedStation> = Vec::new();
        for table in file.tables("base_station", &STATION, MAX_STATIONS)? {
            let station = read_station(&table)?;
            if stations.iter().any(|other| other.id == station.id) {
                let key = if table.contains("id") { "id" } else { "gnb" };
                return Err(table.invalid(key, format!("there are two base stations {}; give each an id", station.id)));
            }
            for other in stations.iter().filter(|other| other.gnb == station.gnb) {
                let (Dus::These(dus), Dus::These(of_other)) = (&station.dus, &other.dus) else {
                    let text = format!("{} is {} already; give both base stations their dus", other.gnb, other.id);
                    return Err(table.invalid("gnb", text));
                };
                if let Some(du) = dus.intersection(of_other).next() {
                    return Err(table.invalid("dus", format!("DU {du} is in base station {} already", other.id)));
                }
            }
            stations.push(station);
        }
        if stations.is_empty() {
            return Err(file.missing("base_station", "a topology needs at least one [[base_station]]"));
        }
        Ok(Topology { ric, stations })
    }
}

fn read_station(table: &Table<'_>) -> Result<ExposedStation, Error> {
    let gnb = table.parsed::<GnbName>("gnb", "a gNB such as gnb-00101-e00")?;
    let gnb = gnb.ok_or_else(|| table.missing("gnb", "the gNB that has the parts"))?;
    let id = table.parsed::<GnbName>("id", "a gNB such as gnb-00101-f01")?.unwrap_or(gnb);
    let mut dus = Dus::All;
    if let Some(elements) = table.elements("dus", MAX_DUS, "ids of DUs")? {
        let mut ids = BTreeSet::new();
        for (index, element) in elements.into_iter().enumerate() {
            let du = match element {
                Element::Integer(du) => u64::try_from(du).ok().filter(|du| *du < 1 << DU_ID_BITS),
                Element::Text(_) => None,
            };
            let range = || table.invalid_element("dus", index, "the id of a DU is an integer of at most 36 bits");
            let du = du.ok_or_else(range)?;
            if !ids.insert(du) {
                return Err(table.invalid_element("dus", index, format!("DU {du} is named twice")));
            }
        }
        dus = if ids.is_empty() { Dus::None } else { Dus::These(ids) };
    }
    Ok(ExposedStation { gnb, id, dus })
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::{GnbCuUpId, GnbDuId};

    use super::*;

    const RIC: &str = "ric = \"tcp://127.0.0.1:1\"\n";

    fn station(keys: &str) -> String {
        format!("[[base_station]]\n{keys}\n")
    }

    #[test]
    fn topology_that_is_not_possible_is_refused_with_line_and_key() {
        let e00 = "gnb = \"gnb-00101-e00\"\n";
        let du = |id: &str, du: &str| station(&format!("{e00}id = \"{id}\"\ndus = [{du}]"));
        let cases = [
            (String::new(), "missing key `ric`"),
            (RIC.to_owned(), "missing key `base_station`"),
            (RIC.to_owned() + &station("id = \"gnb-00101-1\""), "base_station[0]: missing key `gnb`"),
            (RIC.to_owned() + &station("gnb = \"e00\""), "line 3: base_station[0]: gnb: a gNB is `gnb-PLMN-NUMBER`"),
            (RIC.to_owned() + &station("gnb = \"gnb-00101-123456789\""), "at most 32 bits"),
            (RIC.to_owned() + &station(&format!("{e00}du = [1]")), "unknown key `du`; did you mean `dus`?"),
            (
                RIC.to_owned() + &station(&format!("{e00}dus = []")) + &du("gnb-00101-f00", "1"),
                "give both base stations",
            ),
            (RIC.to_owned() + &station(&format!("{e00}dus = [\"x\"]")), "dus[0]"),
            (RIC.to_owned() + &station(&format!("{e00}dus = [1, 1]")), "DU 1 is named twice"),
            (RIC.to_owned() + &station(&format!("{e00}dus = [68719476736]")), "at most 36 bits"),
            (RIC.to_owned() + &du("gnb-00101-f00", "1") + &du("gnb-00101-f01", "1"), "DU 1 is in base station"),
            (RIC.to_owned() + &du("gnb-00101-f00", "1") + &du("gnb-00101-f00", "2"), "two base stations gnb-00101-f00"),
            (RIC.to_owned() + &du("gnb-00101-f00", "1") + &station(e00), "give both base stations their dus"),
            ("ric = \"nowhere\"\n".to_owned() + &station(e00), "line 1: ric"),
        ];
        for (text, reason) in cases {
            let error = Topology::parse(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn parts_are_those_of_the_gnb() {
        let text = RIC.to_owned()
            + &station("gnb = \"gnb-00101-e00\"\ndus = [1, 3]\nid = \"gnb-00102-f1\"")
            + &station("gnb = \"gnb-00101-e01\"")
            + &station("gnb = \"gnb-00101-e02\"\ndus = []");
        let topology = Topology::parse(&text).unwrap();
        let part = |number: u32, cu_up: Option<i64>, du: Option<i64>| {
            let mut id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 24));
            if let GlobalE2NodeId::Gnb(gnb) = &mut id {
                (gnb.gnb_cu_up_id, gnb.gnb_du_id) = (cu_up.map(GnbCuUpId), du.map(GnbDuId));
            }
            id
        };
        let of = |at: usize, node: GlobalE2NodeId| topology.stations[at].part_of(&node);
        assert_eq!(of(0, part(0xe00, None, None)), Some(Part::Control));
        assert_eq!(of(0, part(0xe00, Some(5), None)), Some(Part::CuUp(5)));
        assert_eq!(of(0, part(0xe00, None, Some(3))), Some(Part::Du(3)));
        assert_eq!(of(0, part(0xe00, None, Some(2))), None);
        assert_eq!(of(0, part(0xe01, None, Some(1))), None);
        assert_eq!(of(1, part(0xe01, None, Some(9))), Some(Part::Du(9)));
        assert_eq!(of(2, part(0xe02, None, None)), Some(Part::Control));
        assert_eq!(of(2, part(0xe02, None, Some(1))), None);
        let id = topology.stations[0].global_id(&part(0xe00, None, None));
        assert_eq!(id.to_string(), "gnb-00102-f1");
        assert_eq!(id, GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 2, 2), GnbId::new(0xf1, 24)));
    }
}
