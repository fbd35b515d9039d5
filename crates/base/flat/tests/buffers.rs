//! Buffers of the writer are readable and aligned; malformed buffers are errors.

use flat::{Error, ErrorKind, MAX_DEPTH, Reader, Writer};

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.err().expect("a malformed buffer is an error").kind
}

#[test]
fn every_field_is_aligned_to_its_width() {
    // after any number of octets, and with the widths in any order
    for before in 0..9 {
        for widths in [[1u8, 8, 2, 4, 0, 1], [8, 8, 1, 8, 4, 2], [1, 1, 1, 2, 0, 8], [4, 0, 0, 0, 0, 2]] {
            let mut out = vec![0xEE; before];
            let mut writer = Writer::new(&mut out, None);
            let list = writer.table(writer.root(), [4]);
            let first = writer.vector(list.place(0), 3, 4);
            let mut places = Vec::new();
            for i in 0..3 {
                let table = writer.table(first + 4 * i, widths);
                for slot in (0..widths.len()).filter(|slot| widths[*slot] != 0) {
                    places.push((i, slot, table.place(slot)));
                }
                writer.string(table.place(widths.iter().position(|w| *w == 4).unwrap_or(0)), "odd");
            }
            writer.finish().unwrap();
            assert_eq!(out[..before], vec![0xEE; before]);

            let octets = &out[before..];
            let mut reader = Reader::new(octets);
            let root = reader.table(reader.root(None).unwrap()).unwrap();
            let vector = reader.vector(root.place(0).unwrap(), 4).unwrap();
            assert_eq!(vector.count, 3);
            for (i, slot, place) in places {
                let table = reader.table(vector.first + 4 * i).unwrap();
                assert_eq!(table.place(slot), Some(place));
                assert_eq!(place % usize::from(widths[slot]), 0, "{widths:?} slot {slot}");
                assert_eq!(table.place(widths.len()), None, "beyond the vtable");
                reader.leave(&table);
            }
        }
    }
}

#[test]
fn equal_vtables_are_written_once() {
    let length = |slots: [[u8; 2]; 2]| {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, None);
        let root = writer.table(writer.root(), [4]);
        let first = writer.vector(root.place(0), 2, 4);
        writer.table(first, slots[0]);
        writer.table(first + 4, slots[1]);
        writer.finish().unwrap();
        out.len()
    };
    // a vtable of two slots has 8 octets, and the fields in the other order need no padding
    assert_eq!(length([[1, 2], [2, 1]]), length([[1, 2], [1, 2]]) + 8 - 1);
}

#[test]
fn octets_are_written_in_pieces_and_strings_end_with_nul() {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Some(*b"TEST"));
    let table = writer.table(writer.root(), [4, 4]);
    writer.octets(table.place(0), [&b"ab"[..], b"", b"cde"].into_iter());
    writer.string(table.place(1), "text");
    writer.finish().unwrap();

    let mut reader = Reader::new(&out);
    assert_eq!(kind(reader.root(Some(*b"REST"))), ErrorKind::BadIdentifier);
    let table = reader.table(reader.root(Some(*b"TEST")).unwrap()).unwrap();
    assert_eq!(reader.octets(table.place(0).unwrap()), Ok(&b"abcde"[..]));
    let string = table.place(1).unwrap();
    assert_eq!(reader.string(string), Ok(&b"text"[..]));

    let last = out.len() - 1;
    assert_eq!(out[last], 0);
    out[last] = 1;
    let reader = Reader::new(&out);
    assert_eq!(kind(reader.string(string)), ErrorKind::BadString);
    let reader = Reader::new(&out[..last]);
    assert_eq!(kind(reader.string(string)), ErrorKind::Truncated);
}

#[test]
fn invalid_offsets_are_refused() {
    for (octets, expected) in [
        (&[][..], ErrorKind::Truncated),
        (&[4, 0, 0], ErrorKind::Truncated),
        (&[0, 0, 0, 0], ErrorKind::BadTable),
        (&[4, 0, 0, 0], ErrorKind::Truncated),
        (&[0xFF; 8], ErrorKind::Truncated),
        // a vtable before the buffer, one after it, and one with length 2
        (&[4, 0, 0, 0, 5, 0, 0, 0], ErrorKind::BadTable),
        (&[4, 0, 0, 0, 0, 0, 0, 0x80], ErrorKind::Truncated),
        (&[4, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 2, 0, 4, 0], ErrorKind::BadTable),
        // an odd length, and one beyond the buffer
        (&[4, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 5, 0, 4, 0, 0], ErrorKind::BadTable),
        (&[4, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 6, 0, 4, 0], ErrorKind::Truncated),
    ] {
        let mut reader = Reader::new(octets);
        let root = reader.root(None).unwrap();
        assert_eq!(kind(reader.table(root)), expected, "{octets:02x?}");
    }
    let mut reader = Reader::new(&[4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0]);
    assert_eq!(kind(reader.vector(0, 4)), ErrorKind::Truncated);
    assert_eq!(kind(reader.octets(0)), ErrorKind::Truncated);
    assert_eq!(kind(reader.string(0)), ErrorKind::Truncated);
    assert_eq!(kind(reader.vector(usize::MAX, 4)), ErrorKind::Truncated);
}

#[test]
fn depth_and_visits_are_bounded() {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, None);
    let mut place = writer.root();
    for _ in 0..=MAX_DEPTH {
        place = writer.table_of_one(place, 0, 4);
    }
    writer.octets(place, core::iter::empty());
    writer.finish().unwrap();
    let mut reader = Reader::new(&out);
    let mut place = reader.root(None).unwrap();
    let refused = loop {
        match reader.table(place) {
            Ok(table) => place = table.place(0).unwrap(),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind, ErrorKind::TooDeep);

    // a table can be visited as often as the buffer has octets
    let mut reader = Reader::new(&out);
    let mut visits = 0;
    while let Ok(table) = reader.table(0) {
        reader.leave(&table);
        visits += 1;
    }
    assert_eq!(visits, out.len());
    assert_eq!(kind(reader.table(0)), ErrorKind::TooManyVisits);
}

#[test]
fn choice_has_one_alternative() {
    for (widths, expected) in [([0u8, 0, 0], None), ([0, 2, 0], Some(1)), ([0, 0, 8], Some(2)), ([1, 0, 8], None)] {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, None);
        writer.table(writer.root(), widths);
        writer.finish().unwrap();
        let table = Reader::new(&out).table(0).unwrap();
        assert_eq!(table.only().map(|(slot, _)| slot), expected);
    }
}
