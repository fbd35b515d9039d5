//! Loading a model written in C, and rejecting other files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

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

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folder_above_that_others_may_write_is_refused_unless_it_is_sticky() {
    let above = ObjectFolder::new();
    let folder = above.path().join("models");
    fs::create_dir(&folder).unwrap();
    set_mode(&folder, 0o755);
    let object = folder.join("temperature.so");
    fs::copy(temperature(&above, "temperature", |source| source), &object).unwrap();
    set_mode(&object, 0o755);
    Model::load(&object, &folder).unwrap();
    for mode in [0o777, 0o775] {
        set_mode(above.path(), mode);
        let error = Model::load(&object, &folder).unwrap_err();
        assert!(matches!(&error, LoadError::Writable(path) if path == above.path()), "{error}");
    }
    set_mode(above.path(), 0o1777);
    Model::load(&object, &folder).unwrap();
    // within the folder itself it is no protection: a new object may appear
    set_mode(&folder, 0o1777);
    assert!(matches!(Model::load(&object, &folder), Err(LoadError::Writable(path)) if path == folder));
    set_mode(&folder, 0o755);
    assert!(matches!(Model::load(&folder, &folder), Err(LoadError::NoFile(_))));
}

#[test]
fn objects_that_are_loaded_together_are_distinct() {
    let folder = ObjectFolder::new();
    let load = |name: &str| {
        let of_name = |source: String| source.replace("\"temperature-v1\"", &format!("\"{name}\""));
        Model::load(&temperature(&folder, name, of_name), folder.path()).unwrap()
    };
    let models = [load("first"), load("second"), load("third")];
    assert_eq!(models.each_ref().map(Model::name), ["first", "second", "third"]);
}

#[test]
fn object_that_is_swapped_during_the_check_is_not_loaded() {
    let folder = ObjectFolder::new();
    let good = temperature(&folder, "good", |source| source);
    let evil = temperature(&folder, "evil", |source| source.replace("\"temperature-v1\"", "\"evil\""));
    set_mode(&evil, 0o777);
    let place = folder.path().join("place.so");
    fs::hard_link(&good, &place).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = folder.path().join("next.so");
            for source in [&evil, &good].into_iter().cycle() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                fs::hard_link(source, &next).unwrap();
                fs::rename(&next, &place).unwrap();
                // a rename between links of one file does nothing
                let _ = fs::remove_file(&next);
            }
        });
        for _ in 0..1000 {
            if let Ok(model) = Model::load(&place, folder.path()) {
                assert_eq!(model.name(), "temperature-v1", "writable for others, and loaded");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

/// The variable that names an object to [`load_as_another_user`].
const OBJECT: &str = "FERRIC_TEST_OBJECT";

#[test]
#[ignore = "the test below runs it as another user"]
fn load_as_another_user() {
    let object = PathBuf::from(std::env::var_os(OBJECT).unwrap());
    match Model::load(&object, object.parent().unwrap()) {
        Ok(_) => println!("is loaded"),
        Err(error) => println!("is refused: {error}"),
    }
}

#[test]
fn object_must_belong_to_root_or_to_the_user() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("\nNOT TESTED: owners of objects, which needs root");
    }
    let folder = ObjectFolder::new();
    let object = temperature(&folder, "temperature", |source| source);
    let as_user = |user: u32| {
        let user = format!("--reuid={user}");
        let mut command = std::process::Command::new("setpriv");
        command.args([&user, "--clear-groups"]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "load_as_another_user", "--ignored", "--nocapture"]).env(OBJECT, &object);
        String::from_utf8(command.output().expect("setpriv of util-linux").stdout).unwrap()
    };
    // root's objects are loaded by everybody, those of a user by that user
    assert!(as_user(4242).contains("is loaded"), "{}", as_user(4242));
    chown(&object, Some(4242), None).unwrap();
    assert!(as_user(4242).contains("is loaded"), "{}", as_user(4242));
    for output in [as_user(4243), format!("is refused: {}", Model::load(&object, folder.path()).unwrap_err())] {
        assert!(output.contains("is refused") && output.contains("belongs to user 4242"), "{output}");
    }
    chown(&object, Some(0), None).unwrap();
    chown(folder.path(), Some(4242), None).unwrap();
    let error = Model::load(&object, folder.path()).unwrap_err();
    assert!(matches!(&error, LoadError::ForeignOwner { path, owner: 4242 } if path == folder.path()), "{error}");
}
