//! The settings of a control, within bounds.

use ferric::e2::content::{ControlModel, Setting};

/// The most settings of one control.
const MAX_SETTINGS: usize = 256;
/// The most octets of a scope as text; a longer one is cut and gets a digest.
const MAX_SCOPE: usize = 96;

/// Returns what a control sets, in the order of the message. Empty for one that only asks.
///
/// # Errors
/// Why it is not known, in words.
pub(crate) fn settings(model: &ControlModel, header: &[u8], message: &[u8]) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    let mut is_too_many = false;
    let visited = model.visit(header, message, &mut |mut setting| {
        if settings.len() < MAX_SETTINGS {
            setting.scope = bounded(setting.scope);
            settings.push(setting);
        } else {
            is_too_many = true;
        }
        None
    });
    visited.map_err(|unreadable| unreadable.to_string())?;
    if is_too_many { Err(format!("more than {MAX_SETTINGS} settings")) } else { Ok(settings) }
}

/// A scope within its bound: the digest keeps long ones apart.
fn bounded(scope: String) -> String {
    if scope.len() <= MAX_SCOPE {
        return scope;
    }
    let digest = audit::digest(scope.as_bytes());
    let cut: String = scope.chars().take(MAX_SCOPE - 20).filter(char::is_ascii).collect();
    format!("{cut}#{}", &digest.to_string()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_scopes_stay_apart_within_their_bound() {
        let scope = |end: &str| bounded("x".repeat(500) + end);
        assert!(scope("a").len() <= MAX_SCOPE);
        assert_ne!(scope("a"), scope("b"));
        assert_eq!(bounded("short".to_owned()), "short");
    }
}
