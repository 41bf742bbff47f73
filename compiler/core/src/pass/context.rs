//! The context of a run: which passes run, with what settings, watched by whom.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::Config;
use super::instrument::Instruments;
use super::{ConfigValue, FlagKey, IntKey, PassInfo, PassInstrument, Remark, TextKey, registry};
use crate::tune::Tuned;
use crate::{CompileError, Target};

/// Says which passes run, with what settings, and who watches them.
///
/// A clone shares the instruments and the diagnostics, so that threads which are given one inherit them.
#[derive(Clone)]
pub struct PassContext {
    /// Passes of a higher level do not run; 2 by default.
    pub opt_level: u32,
    /// Passes that run whatever their level, by name; instruments are not asked about them.
    pub required: BTreeSet<String>,
    /// Passes that never run, by name.
    pub disabled: BTreeSet<String>,
    /// Whether the verifier runs after every pass; it does in debug builds.
    pub verify: bool,
    /// What code is generated for.
    pub target: Target,
    /// `numerics = "strict"`: no pass decides by the target in which order a sum takes its terms.
    pub strict: bool,
    /// What answers the rules of default schedules.
    pub tuned: Tuned,
    pub(super) instruments: Instruments,
    config: Config,
    diagnostics: Arc<Mutex<Vec<CompileError>>>,
}

impl PassContext {
    /// A context with every default.
    pub fn new(target: Target) -> Self {
        PassContext {
            opt_level: 2,
            required: BTreeSet::new(),
            disabled: BTreeSet::new(),
            verify: cfg!(debug_assertions),
            target,
            strict: false,
            tuned: Tuned::default(),
            instruments: Instruments::default(),
            config: Config::default(),
            diagnostics: Arc::default(),
        }
    }

    /// The same settings and watchers for another target.
    #[must_use]
    pub fn with_target(&self, target: Target) -> PassContext {
        PassContext { target, ..self.clone() }
    }

    /// The same settings and watchers for a function that is strict, or one that is not.
    #[must_use]
    pub fn with_strict(&self, strict: bool) -> PassContext {
        PassContext { strict, ..self.clone() }
    }

    /// The same for another target, whose errors are its own.
    pub(crate) fn apart(&self, target: Target) -> PassContext {
        PassContext { diagnostics: Arc::default(), ..self.with_target(target) }
    }

    /// Whether somebody watches passes.
    pub(crate) fn is_watched(&self) -> bool {
        !self.instruments.is_empty()
    }

    /// The same settings and watchers with other answers to the rules of default schedules.
    #[must_use]
    pub fn with_tuned(&self, tuned: Tuned) -> PassContext {
        PassContext { tuned, ..self.clone() }
    }

    /// The enable rule: disabled, then required, then the level.
    pub fn enables(&self, pass: &PassInfo) -> bool {
        if self.disabled.contains(pass.name) {
            return false;
        }
        if self.required.contains(pass.name) {
            return true;
        }
        self.opt_level >= pass.opt_level
    }

    /// Has a pass run whatever its level.
    pub fn require(&mut self, name: &str) -> Result<(), CompileError> {
        self.required.insert(registry::get(name)?.info.name.into());
        Ok(())
    }

    /// Has a pass never run. Passes that lower cannot be left out.
    pub fn disable(&mut self, name: &str) -> Result<(), CompileError> {
        let pass = registry::get(name)?;
        if pass.lowering {
            let help = Some("only passes that are marked as optional in passes.md can be disabled".into());
            return Err(super::wrong(format!("`{name}` cannot be disabled: there is no code without it"), help));
        }
        self.disabled.insert(name.into());
        Ok(())
    }

    /// Sets a registered key to a value of its type.
    pub fn set(&mut self, key: &str, value: impl Into<ConfigValue>) -> Result<(), CompileError> {
        self.config.set(key, value.into())
    }

    /// Sets a registered key to a value that is written as text.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<(), CompileError> {
        self.config.set_text(key, text)
    }

    /// The value of a flag.
    pub fn flag(&self, key: &FlagKey) -> bool {
        self.set_flag(key).unwrap_or(key.default)
    }

    /// The value of a flag, if it is set.
    pub fn set_flag(&self, key: &FlagKey) -> Option<bool> {
        match self.config.get(key.name) {
            Some(ConfigValue::Flag(flag)) => Some(*flag),
            Some(ConfigValue::Int(_) | ConfigValue::Text(_)) | None => None,
        }
    }

    /// The value of a number.
    pub fn int(&self, key: &IntKey) -> i64 {
        match self.config.get(key.name) {
            Some(ConfigValue::Int(n)) => *n,
            Some(ConfigValue::Flag(_) | ConfigValue::Text(_)) | None => key.default,
        }
    }

    /// The value of a text.
    pub fn text(&self, key: &TextKey) -> &str {
        match self.config.get(key.name) {
            Some(ConfigValue::Text(text)) => text,
            Some(ConfigValue::Flag(_) | ConfigValue::Int(_)) | None => key.default,
        }
    }

    /// Adds a watcher behind the others.
    pub fn watch(&mut self, instrument: Box<dyn PassInstrument>) {
        self.instruments.push(instrument);
    }

    /// Lets go of the watchers that it shares.
    pub(crate) fn alone(&mut self) {
        self.instruments.alone();
    }

    /// Puts other watchers in the place of those that there are: the old ones exit, then the new ones enter.
    pub fn override_instruments(&self, new: Vec<Box<dyn PassInstrument>>) -> Result<(), CompileError> {
        self.instruments.exit()?;
        self.instruments.set(new)?;
        self.instruments.enter()
    }

    /// Says that something is wrong with the user's function and goes on: a pass may report several errors, and the
    /// runner stops behind it.
    pub fn emit(&self, error: CompileError) {
        self.said().push(error);
    }

    /// Says what a pass did to a piece of code, or why it did not. What a watcher refuses is among the diagnostics.
    pub fn remark(&self, make: impl FnOnce() -> Remark) {
        if let Err(error) = self.instruments.remark(make) {
            self.emit(error);
        }
    }

    /// Takes the errors that passes have emitted.
    pub fn take_diagnostics(&self) -> Vec<CompileError> {
        std::mem::take(&mut *self.said())
    }

    /// How many errors passes have emitted, and the first of those behind the number given.
    pub(super) fn emitted(&self, known: usize) -> (usize, Option<CompileError>) {
        let said = self.said();
        (said.len(), said.get(known).cloned())
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Vec<CompileError>> {
        self.diagnostics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
