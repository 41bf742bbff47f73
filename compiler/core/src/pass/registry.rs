//! Every pass by name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{ConfigKey, Pass, near, wrong};
use crate::CompileError;
use crate::pipeline::PASSES;

/// The pass of that name.
pub fn find(name: &str) -> Option<&'static Pass> {
    static BY_NAME: OnceLock<BTreeMap<&'static str, &'static Pass>> = OnceLock::new();
    BY_NAME.get_or_init(|| PASSES.iter().map(|pass| (pass.info.name, pass)).collect()).get(name).copied()
}

/// The pass of that name, or an error that names the nearest.
pub fn get(name: &str) -> Result<Pass, CompileError> {
    find(name).cloned().ok_or_else(|| {
        let help = near(name, PASSES.iter().map(|pass| pass.info.name));
        wrong(format!("there is no pass `{name}`"), help.or_else(|| Some("passes.md lists them".into())))
    })
}

/// The settings of every pass, by name.
pub fn config_keys() -> &'static BTreeMap<&'static str, ConfigKey> {
    static KEYS: OnceLock<BTreeMap<&'static str, ConfigKey>> = OnceLock::new();
    KEYS.get_or_init(|| PASSES.iter().flat_map(|pass| pass.config).map(|key| (key.name(), *key)).collect())
}
