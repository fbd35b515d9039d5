//! Arbitrary octets as requests of Redis's protocol. What is read does not depend on the pieces in which octets arrive, and takes
//! memory in proportion to them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sdl::resp::{Bounds, Decoder, Fault};

const BOUNDS: Bounds = Bounds { max_octets: 1 << 14, max_arguments: 64 };

fn requests<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<Vec<u8>>>, Option<Fault>) {
    let (mut decoder, mut requests, mut pushed) = (Decoder::default(), Vec::new(), 0);
    for piece in pieces {
        decoder.push(piece);
        pushed += piece.len();
        assert!(decoder.held_octets() <= 4096 + 8 * pushed);
        loop {
            match decoder.next(BOUNDS) {
                Ok(Some(request)) => {
                    assert!((1..=BOUNDS.max_arguments).contains(&request.len()) && request.octets() <= BOUNDS.max_octets);
                    requests.push(request.from(0).map(<[u8]>::to_vec).collect());
                }
                Ok(None) => break,
                Err(fault) => return (requests, Some(fault)),
            }
        }
    }
    (requests, None)
}

fuzz_target!(|octets: &[u8]| {
    let whole = requests(std::iter::once(octets));
    let length = 1 + octets.len() % 7;
    assert_eq!(requests(octets.chunks(length)), whole);
});
