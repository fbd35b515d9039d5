//! `--model`: service models in shared objects.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use model_plugin::{DEFAULT_FOLDER, Model};

/// Options of all commands that can use such a model.
#[derive(clap::Args)]
pub struct ModelArgs {
    /// Service model in a shared object: see docs/models.md. Repeatable.
    #[arg(long, value_name = "FILE")]
    model: Vec<PathBuf>,
    /// Folder from which models may be loaded.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    models_from: PathBuf,
}

impl ModelArgs {
    /// Loads the models.
    pub fn load(&self) -> anyhow::Result<Vec<Arc<Model>>> {
        let load = |file: &PathBuf| {
            let model = Model::load(file, &self.models_from).with_context(|| {
                let (file, folder) = (file.display(), self.models_from.display());
                format!("cannot load the model {file} (models are loaded from {folder} only: see --models-from)")
            });
            Ok(Arc::new(model?))
        };
        self.model.iter().map(load).collect()
    }
}
