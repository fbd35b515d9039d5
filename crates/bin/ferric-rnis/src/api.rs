//! Flags of the REST interface.

use std::time::Duration;

use clap::Args;
use rnis::SubscriptionLimits;
use rnis::api::ApiConfig;

use crate::access::RestAccess;

/// The bounds of subscriptions, and their links.
#[derive(Debug, Args)]
pub struct ApiArgs {
    /// The root of links to subscriptions, such as https://mec.example:8092 [default: the host that a request names]
    #[arg(long, value_name = "URL")]
    api_root: Option<String>,
    /// Subscriptions of one application
    #[arg(long, value_name = "NUMBER", default_value_t = SubscriptionLimits::default().max_per_owner)]
    max_application_subscriptions: usize,
    /// Subscriptions in total
    #[arg(long, value_name = "NUMBER", default_value_t = SubscriptionLimits::default().max_total)]
    max_subscriptions: usize,
    /// The longest time until a subscription expires, if it has a deadline, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = SubscriptionLimits::default().max_lifetime.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    max_lifetime_s: u64,
    /// How long before its end a subscription is notified of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = SubscriptionLimits::default().expiry_notice.as_secs(),
          value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    expiry_notice_s: u64,
}

impl ApiArgs {
    /// The settings of the interface.
    pub fn config(&self, access: &RestAccess) -> ApiConfig {
        let root = self.api_root.clone();
        ApiConfig { root, is_secured: access.is_secured(), oauth2: access.oauth2(), ..ApiConfig::default() }
    }

    /// The root of links, if one is given.
    pub fn root(&self) -> Option<String> {
        self.api_root.as_ref().map(|root| root.trim_end_matches('/').to_owned())
    }

    /// The bounds of subscriptions.
    pub fn limits(&self) -> SubscriptionLimits {
        SubscriptionLimits {
            max_per_owner: self.max_application_subscriptions,
            max_total: self.max_subscriptions,
            max_lifetime: Duration::from_secs(self.max_lifetime_s),
            expiry_notice: Duration::from_secs(self.expiry_notice_s),
        }
    }
}
