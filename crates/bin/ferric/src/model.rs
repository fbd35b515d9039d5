//! Service models from shared objects, as arguments.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use model_plugin::{DEFAULT_FOLDER, Model};

/// Arguments of whatever can use a model.
#[derive(clap::Args)]
pub struct ModelArgs {
    /// A service model in a shared object (see docs/models.md); several times for several.
    #[arg(long, value_name = "FILE")]
    model: Vec<PathBuf>,
    /// The folder that models may come from.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    models_from: PathBuf,
}

impl ModelArgs {
    /// The models, loaded.
    pub fn load(&self) -> anyhow::Result<Vec<Arc<Model>>> {
        let load = |file: &PathBuf| {
            let model = Model::load(file, &self.models_from).with_context(|| {
                let (file, folder) = (file.display(), self.models_from.display());
                format!(
                    "the model {file} is not loaded (models come from {folder}, unless --models-from names another)"
                )
            });
            Ok(Arc::new(model?))
        };
        self.model.iter().map(load).collect()
    }
}
