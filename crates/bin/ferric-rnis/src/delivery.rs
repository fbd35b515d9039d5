//! The flags of the delivery.

use std::path::PathBuf;

use clap::Args;
use rnis::DeliveryConfig;

/// How notifications are delivered.
#[derive(Clone, Debug, Args)]
pub struct DeliveryArgs {
    /// The authorities that sign the certificates of https:// callbacks, in PEM; without it such callbacks are refused
    #[arg(long, value_name = "FILE")]
    callback_ca: Option<PathBuf>,
    /// Use HTTP/2 without negotiation for http:// callbacks
    #[arg(long)]
    callback_http2: bool,
}

impl DeliveryArgs {
    /// The configuration of the delivery.
    pub fn config(&self) -> DeliveryConfig {
        DeliveryConfig {
            ca: self.callback_ca.clone(),
            is_http2_assumed: self.callback_http2,
            ..DeliveryConfig::default()
        }
    }
}
