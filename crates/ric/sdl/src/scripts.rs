//! The scripts of locks, which clients send as programs in Lua. The store has no interpreter: it knows these scripts by the hash
//! of their text without white space, and does what they do.

use std::collections::VecDeque;

use data_encoding::HEXLOWER;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

/// Digests under which clients have loaded scripts: versions of libraries differ in the white space of the text.
const MAX_LOADED: usize = 256;
/// The longest text of a script.
const MAX_SCRIPT_OCTETS: usize = 4096;

/// What a script does with the lock of its key, if its token is the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// redis-py: removes it. 1, or 0 where the token is another.
    Release,
    /// redis-py: adds milliseconds to its time, or replaces it. 1 or 0.
    Extend,
    /// redis-py and the SDL library in Go: replaces its time. 1 or 0.
    Reacquire,
    /// ricsdl: returns the milliseconds that are left; -10 without a lock, -11 where the token is another.
    Validity,
}

/// The SHA-256 of the texts, without white space and with single quotes.
const KNOWN: [(&str, Script); 5] = [
    ("5edb30ccdf90ad625479d79c02507dd2b15240df3f89eb3bcd6667010ec8aa78", Script::Release),
    ("6950f6a8f73002085df9913402c7b0db5e80236c1827d53989c62ebb3c8de852", Script::Extend),
    ("2dd6ae375a6620d8787afaa6159944782f338d51ecb7fe77a2ba15557c8c6810", Script::Reacquire),
    ("7247fa3d2ba5ae0fe29d90d4b5ed56e4db99dc0a99cd95822152a8a1b9ff4d11", Script::Reacquire),
    ("d7fe9f7137ee0d19eae743ed4ec6b00bc11144c3532b89993d4a5a9e0f3fe777", Script::Validity),
];

impl Script {
    /// Recognizes the text of a script.
    pub fn of_text(text: &[u8]) -> Option<Script> {
        if text.len() > MAX_SCRIPT_OCTETS {
            return None;
        }
        let octets = text.iter().filter(|octet| !octet.is_ascii_whitespace());
        let octets: Vec<u8> = octets.map(|octet| if *octet == b'"' { b'\'' } else { *octet }).collect();
        let hash = HEXLOWER.encode(digest(&SHA256, &octets).as_ref());
        KNOWN.iter().find(|(known, _)| *known == hash).map(|(_, script)| *script)
    }
}

/// The scripts that clients have loaded, by the SHA-1 of their texts.
#[derive(Debug, Default)]
pub(crate) struct Scripts(VecDeque<(String, Script)>);

impl Scripts {
    /// Stores a script, and returns the digest of its text; `None` for one that is not supported.
    pub fn load(&mut self, text: &[u8]) -> Option<String> {
        let script = Script::of_text(text)?;
        let digest = HEXLOWER.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text).as_ref());
        if self.find(digest.as_bytes()).is_none() {
            if self.0.len() == MAX_LOADED {
                self.0.pop_front();
            }
            self.0.push_back((digest.clone(), script));
        }
        Some(digest)
    }

    /// Finds a script by its digest, in either case.
    pub fn find(&self, digest: &[u8]) -> Option<Script> {
        self.0.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(digest)).map(|(_, script)| *script)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
