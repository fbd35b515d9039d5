//! `schema/e2ap.fbs` equals the schema of the declarations; `UPDATE_SCHEMA=1` rewrites it. Slots are positions of fields: append
//! to tables and enumerations only.

mod common;

use std::path::Path;

#[test]
fn committed_schema_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema/e2ap.fbs");
    let schema = e2ap::flat::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert_eq!(committed, schema, "schema/e2ap.fbs is not current: run the test with UPDATE_SCHEMA=1");
}

#[test]
fn flatc_buffers_are_decoded() {
    let mut count = 0;
    for entry in std::fs::read_dir(common::vectors().join("../flat/e2ap")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (version, message) = name.split_once('-').unwrap();
        let octets = common::unhex(&std::fs::read_to_string(&path).unwrap());
        let per = common::vector(&format!("{version}/{message}"));

        let (version, gather) = (version.parse().unwrap(), per::Gather::new());
        let expected = e2ap::decode(&per, version, &gather).unwrap();
        let read = e2ap::Codec::FLAT.decode(&octets, version, &gather).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(read, expected, "{name}");
        count += 1;
    }
    assert!(count >= 12, "{count} vectors");
}
