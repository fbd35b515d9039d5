//! Tenants: their shares of the delivery.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::matcher::Key;

/// What a tenant may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantShare {
    /// Its part of the delivery while there is more to send than can be sent: 2 sends twice as much as 1. Default: 1.
    pub weight: u32,
    /// Notifications per second, with a burst of as many; more wait, and at the bounds of their subscriptions they are dropped.
    /// Default: any number.
    pub quota_per_s: Option<u32>,
}

impl Default for TenantShare {
    fn default() -> Self {
        TenantShare { weight: 1, quota_per_s: None }
    }
}

/// The virtual time that a notification takes with weight 1: as in start-time fair queuing, each tenant's notifications get tags
/// that advance by this divided by its weight, and the lowest tag is sent first.
const STEP: u64 = 1 << 20;

/// A tenant in use.
#[derive(Debug)]
pub struct Tenant {
    pub share: TenantShare,
    /// Subscriptions and requests that refer to it.
    pub references: usize,
    pub in_flight: usize,
    /// Subscriptions that wait for the tenant's quota, or for one of its requests to end.
    pub waiting: VecDeque<Key>,
    /// A timer for the quota is set.
    pub has_timer: bool,
    finish: u64,
    tokens: f64,
    counted: Instant,
}

impl Tenant {
    pub fn new(share: TenantShare, now: Instant) -> Self {
        let tokens = f64::from(share.quota_per_s.unwrap_or(0));
        Tenant {
            share,
            references: 0,
            in_flight: 0,
            waiting: VecDeque::new(),
            has_timer: false,
            finish: 0,
            tokens,
            counted: now,
        }
    }

    /// Changes its share; the quota begins anew.
    pub fn set_share(&mut self, share: TenantShare, now: Instant) {
        self.share = share;
        (self.tokens, self.counted) = (f64::from(share.quota_per_s.unwrap_or(0)), now);
    }

    /// The tag of its next notification.
    pub fn tag(&mut self, virtual_time: u64) -> u64 {
        let tag = self.finish.max(virtual_time);
        self.finish = tag + STEP / u64::from(self.share.weight.max(1));
        tag
    }

    /// Gives back a tag that was not used.
    pub fn return_tag(&mut self, tag: u64) {
        self.finish = self.finish.min(tag);
    }

    /// The notifications that the quota allows now.
    pub fn allowance(&mut self, now: Instant) -> usize {
        let Some(quota) = self.share.quota_per_s.map(f64::from) else { return usize::MAX };
        let elapsed = now.saturating_duration_since(self.counted).as_secs_f64();
        self.counted = self.counted.max(now);
        self.tokens = elapsed.mul_add(quota, self.tokens).min(quota);
        self.tokens as usize
    }

    /// Takes one notification from the quota, after [`Tenant::allowance`].
    pub fn take(&mut self) {
        self.tokens -= f64::from(u8::from(self.share.quota_per_s.is_some()));
    }

    /// How long the quota allows nothing.
    pub fn pause(&self) -> Duration {
        // a quota of zero is looked at again, since it may be changed
        let missing_s = |quota: u32| if quota == 0 { 1.0 } else { (1.0 - self.tokens) / f64::from(quota) };
        // rounding must not lead to a pause that ends before there is one
        Duration::from_secs_f64(self.share.quota_per_s.map_or(0.0, missing_s).max(0.001))
    }
}
