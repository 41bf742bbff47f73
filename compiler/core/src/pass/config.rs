//! Settings of passes: typed, and known by name before they are used.
//!
//! A pass declares its keys as constants in its own file, and names them in its [`Pass`](super::Pass). That registers
//! them: a key of no pass cannot be set.

use std::collections::BTreeMap;
use std::fmt;

use super::{near, registry, wrong};
use crate::CompileError;

/// A setting that is on or off.
#[derive(Debug)]
pub struct FlagKey {
    /// `Pass.name`.
    pub name: &'static str,
    /// Where it is not set.
    pub default: bool,
    /// What it means.
    pub doc: &'static str,
}

/// A setting that is a number.
#[derive(Debug)]
pub struct IntKey {
    /// `Pass.name`.
    pub name: &'static str,
    /// Where it is not set.
    pub default: i64,
    /// The least value it takes.
    pub least: i64,
    /// The greatest value it takes.
    pub greatest: i64,
    /// What it means.
    pub doc: &'static str,
}

/// A setting that is a text.
#[derive(Debug)]
pub struct TextKey {
    /// `Pass.name`.
    pub name: &'static str,
    /// Where it is not set.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A key of any type.
#[derive(Clone, Copy, Debug)]
pub enum ConfigKey {
    /// On or off.
    Flag(&'static FlagKey),
    /// A number.
    Int(&'static IntKey),
    /// A text.
    Text(&'static TextKey),
}

impl ConfigKey {
    /// `Pass.name`.
    pub fn name(self) -> &'static str {
        match self {
            ConfigKey::Flag(key) => key.name,
            ConfigKey::Int(key) => key.name,
            ConfigKey::Text(key) => key.name,
        }
    }

    /// What it means.
    pub fn doc(self) -> &'static str {
        match self {
            ConfigKey::Flag(key) => key.doc,
            ConfigKey::Int(key) => key.doc,
            ConfigKey::Text(key) => key.doc,
        }
    }

    /// What it takes, in words.
    pub fn takes(self) -> String {
        match self {
            ConfigKey::Flag(_) => "`true` or `false`".into(),
            ConfigKey::Int(key) if key.greatest == i64::MAX => format!("a number from {} on", key.least),
            ConfigKey::Int(key) => format!("a number from {} to {}", key.least, key.greatest),
            ConfigKey::Text(_) => "a text".into(),
        }
    }

    /// Its value where it is not set.
    pub fn default(self) -> ConfigValue {
        match self {
            ConfigKey::Flag(key) => key.default.into(),
            ConfigKey::Int(key) => key.default.into(),
            ConfigKey::Text(key) => key.default.into(),
        }
    }

    fn accepts(self, value: &ConfigValue) -> bool {
        match (self, value) {
            (ConfigKey::Flag(_), ConfigValue::Flag(_)) | (ConfigKey::Text(_), ConfigValue::Text(_)) => true,
            (ConfigKey::Int(key), ConfigValue::Int(n)) => (key.least..=key.greatest).contains(n),
            (ConfigKey::Flag(_) | ConfigKey::Int(_) | ConfigKey::Text(_), _) => false,
        }
    }
}

/// A value of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigValue {
    /// On or off.
    Flag(bool),
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
}

impl From<bool> for ConfigValue {
    fn from(value: bool) -> Self {
        ConfigValue::Flag(value)
    }
}

impl From<i64> for ConfigValue {
    fn from(value: i64) -> Self {
        ConfigValue::Int(value)
    }
}

impl From<&str> for ConfigValue {
    fn from(value: &str) -> Self {
        ConfigValue::Text(value.into())
    }
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Flag(flag) => write!(f, "{flag}"),
            ConfigValue::Int(n) => write!(f, "{n}"),
            ConfigValue::Text(text) => f.write_str(text),
        }
    }
}

/// The settings of a context.
#[derive(Clone, Debug, Default)]
pub(super) struct Config(BTreeMap<&'static str, ConfigValue>);

impl Config {
    /// Sets a registered key to a value of its type.
    pub(super) fn set(&mut self, name: &str, value: ConfigValue) -> Result<(), CompileError> {
        let key = known(name)?;
        if !key.accepts(&value) {
            return Err(wrong(format!("`{name}` takes {}, found `{value}`", key.takes()), None));
        }
        self.0.insert(key.name(), value);
        Ok(())
    }

    /// The same for a value that is written as text.
    pub(super) fn set_text(&mut self, name: &str, text: &str) -> Result<(), CompileError> {
        let value = match known(name)? {
            ConfigKey::Flag(_) => text.parse().map(ConfigValue::Flag).ok(),
            ConfigKey::Int(_) => text.parse().map(ConfigValue::Int).ok(),
            ConfigKey::Text(_) => None,
        };
        self.set(name, value.unwrap_or_else(|| text.into()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&ConfigValue> {
        self.0.get(name)
    }
}

fn known(name: &str) -> Result<ConfigKey, CompileError> {
    let keys = registry::config_keys();
    keys.get(name).copied().ok_or_else(|| {
        let help = near(name, keys.keys().copied());
        wrong(format!("no pass has a setting `{name}`"), help.or_else(|| Some("passes.md lists them".into())))
    })
}
