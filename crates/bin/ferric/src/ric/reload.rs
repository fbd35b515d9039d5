//! SIGHUP: what a running RIC reads again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ferric::e2::XappRights;
use ferric::link::{Renewal, Tls};
use ferric::server::{Rights, RightsHandle};
use ric::RicConfig;
use ric::oran_host::{RmrEntry, RmrRightsHandle};
use tracing::level_filters::LevelFilter;
use tracing::{info, warn};

/// The configuration file as it was read.
pub struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            files::read_text(path, files::MAX_OCTETS).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(ConfigFile { path: path.to_owned(), text })
    }

    pub fn parse(&self) -> anyhow::Result<RicConfig> {
        RicConfig::from_toml(&self.text).with_context(|| format!("{}", self.path.display()))
    }
}

/// Everything that can be read again while the RIC runs.
pub struct Reload {
    /// The configuration file, as it was when the RIC started.
    file: Option<ConfigFile>,
    /// The rights in force, and those of E42 xApps without a certificate.
    rights: (Rights, Option<Arc<XappRights>>),
    level: LevelFilter,
    tls: Option<Tls>,
    access: Option<rest::AccessHandle>,
    server: RightsHandle,
    /// The rights of xApps over RMR in force, and what replaces them.
    pub rmr: Option<(Option<Vec<RmrEntry>>, RmrRightsHandle)>,
    /// The file of service level agreements.
    pub sla: Option<(PathBuf, virtualization::SlaHandle)>,
    /// The file of xApps that may use the shared data layer.
    pub sdl: Option<(PathBuf, sdl::Handle)>,
    /// The file of rules on conflicts.
    pub conflicts: Option<(PathBuf, conflicts::ConflictHandle)>,
}

impl Reload {
    pub fn new(
        file: Option<ConfigFile>,
        tls: Option<Tls>,
        access: Option<rest::AccessHandle>,
        server: RightsHandle,
    ) -> anyhow::Result<Self> {
        let config = file.as_ref().map(ConfigFile::parse).transpose()?;
        let config = config.unwrap_or_default();
        Ok(Reload {
            file,
            level: level_of(&config),
            rights: rights_of(config),
            tls,
            access,
            server,
            rmr: None,
            sla: None,
            sdl: None,
            conflicts: None,
        })
    }

    /// Reads everything again, and logs what is in force now.
    pub fn run(&mut self) {
        info!("SIGHUP: reading certificates, tokens and the configuration file again");
        match self.tls.as_ref().map(Tls::reload) {
            None => {}
            Some(Renewal::Unchanged) => info!("TLS files: not changed"),
            Some(Renewal::Renewed) => info!("TLS files: reloaded; new connections use their content"),
            Some(Renewal::Failed(error)) => {
                warn!(%error, "TLS files: cannot be used; new connections keep the previous ones; correct the files");
            }
        }
        // REST logs whether its files have changed
        if let Some(access) = &self.access {
            access.reload();
        }
        if let Some((path, handle)) = &self.sla {
            match virtualization::Sla::load(path) {
                Ok(sla) => handle.replace(sla),
                Err(error) => {
                    warn!(
                        error,
                        "service level agreements: cannot be used; the previous ones stay in force; correct the file"
                    );
                }
            }
        }
        if let Some((path, handle)) = &self.sdl {
            match sdl::AccessList::load(path) {
                Ok(access) => {
                    handle.set_access(access);
                    info!("tokens of the shared data layer: read; they are in force");
                }
                Err(error) => {
                    warn!(%error, "tokens of the shared data layer: cannot be used; the previous ones stay in force; correct the file");
                }
            }
        }
        if let Some((path, handle)) = &self.conflicts {
            match conflicts::ConflictRules::load(path) {
                Ok(rules) => handle.replace(rules),
                Err(error) => {
                    warn!(
                        error,
                        "rules on conflicts: cannot be used; the previous ones stay in force; correct the file"
                    );
                }
            }
        }
        if let Err(error) = self.configuration() {
            let error = program::chain(&error);
            warn!(error, "configuration file: cannot be used; the previous content stays in force; correct the file");
        }
    }

    fn configuration(&mut self) -> anyhow::Result<()> {
        let Some(before) = &self.file else { return Ok(()) };
        let after = ConfigFile::read(&before.path)?;
        let config = after.parse()?;
        let level = level_of(&config);
        if level != self.level {
            self.level = level;
            match program::set_log_level(level) {
                true => info!("log level: {level}"),
                false => info!("log level: not changed, since the command line has set it"),
            }
        }
        if let Some((in_force, handle)) = &mut self.rmr
            && *in_force != config.oran.rights
        {
            in_force.clone_from(&config.oran.rights);
            handle.replace(config.oran.rights.clone());
            info!("the rights of xApps over RMR are replaced; subscriptions that they do not permit end");
        }
        let rights = rights_of(config);
        if rights != self.rights {
            self.rights = rights.clone();
            self.server.replace(rights.0, rights.1);
        }
        let keys = RicConfig::keys_for_restart(&before.text, &after.text);
        if !keys.is_empty() {
            warn!("configuration file: changed keys that need a restart: {}", keys.join(", "));
        }
        info!(file = %after.path.display(), "configuration file: read");
        Ok(())
    }
}

/// The level of the file; the program's default without one.
fn level_of(config: &RicConfig) -> LevelFilter {
    config.log.unwrap_or(LevelFilter::INFO)
}

fn rights_of(config: RicConfig) -> (Rights, Option<Arc<XappRights>>) {
    (config.server.rights, config.server.e42.and_then(|e42| e42.without_certificate))
}
