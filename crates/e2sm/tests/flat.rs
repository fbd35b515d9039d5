//! The models in FlatBuffers: the schemas in `schema/` are those of the declarations (`UPDATE_SCHEMA=1` writes them anew);
//! whatever PER can say, FlatBuffers can; what `flatc` writes is read.

use std::path::Path;

#[test]
fn the_schemas_are_those_of_the_declarations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    for (model, schema) in e2sm::flat::schemas() {
        let file = folder.join(model).with_extension("fbs");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&file, &schema).unwrap();
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(committed, schema, "schema/{model}.fbs is not what is declared: run the test with UPDATE_SCHEMA=1");
    }
}
