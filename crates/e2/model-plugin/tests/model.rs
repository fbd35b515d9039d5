//! Loading a model written in C, and rejecting other files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use model_plugin::{DescribeError, LoadError, Model};
use testkit::ObjectFolder;

fn temperature(folder: &ObjectFolder, name: &str, change: impl Fn(String) -> String) -> PathBuf {
    folder.compile(env!("CARGO_MANIFEST_DIR"), "tests/temperature.c", name, change)
}

#[test]
fn model_in_c_describes_messages() {
    let folder = ObjectFolder::new();
    let model = Model::load(&temperature(&folder, "temperature", |source| source), folder.path()).unwrap();
    assert_eq!(model.name(), "temperature-v1");
    assert!(model.has_oid("1.3.6.1.4.1.32473.1.99") && !model.has_oid("1.3.6"));
    assert_eq!(model.types().collect::<Vec<_>>(), ["definition", "indication-message"]);
    assert_eq!(model.describe("indication-message", &[0xF6]), Ok("{\"celsius\":-10}".into()));
    assert_eq!(model.describe("definition", b"Thermometer"), Ok("{\"name\":\"Thermometer\"}".into()));
    let wrong = "a temperature is one octet, not 3".to_owned();
    assert_eq!(model.describe("indication-message", &[1, 2, 3]), Err(DescribeError::Message(wrong)));
    assert_eq!(model.describe("control-header", &[]), Err(DescribeError::UnknownType));
}

#[test]
fn file_writable_for_others_is_not_loaded() {
    let (folder, elsewhere) = (ObjectFolder::new(), ObjectFolder::new());
    let outside = temperature(&elsewhere, "outside", |source| source);
    assert!(matches!(Model::load(&outside, folder.path()), Err(LoadError::OutsideFolder { .. })));
    // a link from the folder does not help
    let link = folder.path().join("link.so");
    symlink(&outside, &link).unwrap();
    assert!(matches!(Model::load(&link, folder.path()), Err(LoadError::OutsideFolder { .. })));
    let dots = folder.path().join("..").join(elsewhere.path().file_name().unwrap()).join("outside.so");
    assert!(matches!(Model::load(&dots, folder.path()), Err(LoadError::OutsideFolder { .. })));

    let inside = temperature(&folder, "inside", |source| source);
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o775)).unwrap();
    assert!(
        matches!(Model::load(&inside, folder.path()), Err(LoadError::Writable(path)) if path.ends_with("inside.so"))
    );
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = Model::load(&inside, folder.path()).unwrap_err();
    assert!(error.to_string().contains("chmod go-w"), "{error}");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    Model::load(&inside, folder.path()).unwrap();
}

#[test]
fn invalid_model_is_rejected_with_reason() {
    let folder = ObjectFolder::new();
    let of = |name: &str, change: &dyn Fn(String) -> String| {
        Model::load(&temperature(&folder, name, change), folder.path()).unwrap_err()
    };
    let error = of("abi", &|source| source.replace(".abi = FERRIC_MODEL_ABI", ".abi = 7"));
    assert!(error.to_string().contains("ABI 7"), "{error}");
    let error = of("symbol", &|source| source.replace("ferric_model_v1 ferric_model_v1", "ferric_model_v1 other"));
    assert!(matches!(error, LoadError::NoSymbol(symbol, _) if symbol == c"ferric_model_v1"));
    for (name, from, to) in [
        ("name", "\"temperature-v1\"", "\"Temperature\""),
        ("short", ".octets = sizeof(struct ferric_model_v1)", ".octets = 8"),
        ("types", "{\"definition\", ", "{"),
        ("oids", "{\"1.3.6.1.4.1.32473.1.99\", ", "{"),
        ("null", ".oids = oids", ".oids = NULL"),
    ] {
        let error = of(name, &|source: String| {
            assert!(source.contains(from));
            source.replace(from, to)
        });
        assert!(matches!(error, LoadError::Malformed(_)), "{name}: {error}");
    }
    let text = folder.path().join("text.so");
    fs::write(&text, "no object").unwrap();
    assert!(matches!(Model::load(&text, folder.path()), Err(LoadError::NotLoaded(_))));
    assert!(matches!(Model::load(&folder.path().join("none.so"), folder.path()), Err(LoadError::Missing(..))));
    assert!(matches!(Model::load(&text, &folder.path().join("none")), Err(LoadError::Missing(..))));
}
