//! Recorded messages of other implementations: octet strings of E2AP PDUs in a `shared/vectors` folder beside the
//! workspace. This crate has no E2AP decoder, so they are found by the octets that precede them.

use std::fs;
use std::path::{Path, PathBuf};

use super::hex;

/// The folder, if there is one.
pub fn shared() -> Option<PathBuf> {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found = above.find_map(|dir| Some(dir.parent()?.join("shared/vectors")).filter(|folder| folder.is_dir()));
    if found.is_none() {
        println!("no shared/vectors folder: only the project's own vectors are tested");
    }
    found
}

/// The octets behind a length determinant, and what follows them.
pub fn prefixed(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes {
        [high, low, rest @ ..] if *high >= 0x80 => rest.split_at(usize::from(*high & 0x3F) << 8 | usize::from(*low)),
        [len, rest @ ..] => rest.split_at(usize::from(*len)),
        [] => panic!("a length is missing"),
    }
}

/// The value of the protocol IE with that ID and criticality, if it is present.
pub fn find_ie(pdu: &[u8], id: u8, criticality: u8) -> Option<&[u8]> {
    let mark = [0x00, id, criticality];
    let found = pdu.windows(3).position(|w| w == mark)?;
    Some(prefixed(&pdu[found + 3..]).0)
}

/// The value of the protocol IE with that ID and criticality.
pub fn ie(pdu: &[u8], id: u8, criticality: u8) -> &[u8] {
    find_ie(pdu, id, criticality).unwrap_or_else(|| panic!("no IE {id}"))
}

/// The messages between FlexRIC's programs.
pub struct Recorded(serde_json::Value);

impl Recorded {
    pub fn read(shared: &Path) -> Recorded {
        let file = fs::read_to_string(shared.join("flexric-e2ap-v2.json")).unwrap();
        Recorded(serde_json::from_str(&file).unwrap())
    }

    /// The PDUs of a procedure, of one function or of none.
    pub fn samples(&self, pdu: &str, procedure: &str, function: Option<u64>) -> Vec<Vec<u8>> {
        let kinds = self.0["vectors"].as_array().unwrap().iter().filter(|kind| {
            kind["procedure"] == procedure && kind["pdu"] == pdu && kind["ran_function_id"].as_u64() == function
        });
        kinds.flat_map(|kind| kind["samples"].as_array().unwrap()).map(|s| hex(s["hex"].as_str().unwrap())).collect()
    }
}
