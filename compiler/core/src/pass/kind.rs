//! What a pass is: four kinds, by what they are given.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tenfold_ir::{Module, relax, tir};

use super::{ConfigKey, PassContext, PassPhase};
use crate::CompileError;

/// What decides whether a pass runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassInfo {
    /// Its name, which is also its file's, its test folder's and the registry's.
    pub name: &'static str,
    /// It runs where the context's level is at least this.
    pub opt_level: u32,
    /// Passes of the registry that run before it, by name, whether they are enabled or not.
    pub required: &'static [&'static str],
}

/// What a pass over a module does: rewrites it, or says why the user's function cannot be compiled.
pub type ModuleFn = dyn Fn(&mut Module, &PassContext) -> Result<(), CompileError> + Send + Sync;

/// What a pass over graphs does: it gets one function and sees the module as it was before the pass.
pub type FunctionFn =
    dyn Fn(relax::Function, &Module, &PassContext) -> Result<relax::Function, CompileError> + Send + Sync;

/// What a pass over loop nests does: it gets one function and sees the module as it was before the pass.
pub type PrimFn = dyn Fn(tir::PrimFunc, &Module, &PassContext) -> Result<tir::PrimFunc, CompileError> + Send + Sync;

/// Code of a pass: part of the compiler, or a closure that was made while it runs.
pub enum Action<F: ?Sized + 'static> {
    /// Part of the compiler.
    Own(&'static F),
    /// A closure.
    Made(Arc<F>),
}

impl<F: ?Sized> Clone for Action<F> {
    fn clone(&self) -> Self {
        match self {
            Action::Own(f) => Action::Own(f),
            Action::Made(f) => Action::Made(f.clone()),
        }
    }
}

impl<F: ?Sized> Deref for Action<F> {
    type Target = F;
    fn deref(&self) -> &F {
        match self {
            Action::Own(f) => f,
            Action::Made(f) => f,
        }
    }
}

/// The kinds of passes.
#[derive(Clone)]
pub enum Kind {
    /// Over the whole module: it may add and remove functions.
    Module(Action<ModuleFn>),
    /// Over one relax function at a time; it can neither add nor remove functions, and it leaves those alone that say
    /// `skip_optimization`, unless it lowers.
    Function(Action<FunctionFn>),
    /// Over one prim-func at a time; as [`Kind::Function`].
    PrimFunc(Action<PrimFn>),
    /// Several in order, which is itself a pass.
    Sequential(Vec<Pass>),
}

impl Kind {
    /// Its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Module(_) => "module",
            Kind::Function(_) => "function",
            Kind::PrimFunc(_) => "prim-func",
            Kind::Sequential(_) => "sequential",
        }
    }
}

/// A pass.
#[derive(Clone)]
pub struct Pass {
    /// What decides whether it runs.
    pub info: PassInfo,
    /// What it does.
    pub kind: Kind,
    /// Where it stands in the pipeline.
    pub phase: PassPhase,
    /// Whether code cannot be generated without it: it may not be disabled, and no function is skipped by it.
    pub lowering: bool,
    /// What it does, as a sentence without a capital or a full stop.
    pub about: &'static str,
    /// The settings it reads.
    pub config: &'static [ConfigKey],
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.info.name, self.kind.name())
    }
}

impl Pass {
    const fn of(name: &'static str, kind: Kind) -> Pass {
        Pass {
            info: PassInfo { name, opt_level: 0, required: &[] },
            kind,
            phase: PassPhase::Graph,
            lowering: false,
            about: "",
            config: &[],
        }
    }

    /// A pass of the compiler over modules. It always runs unless it is disabled by name.
    pub const fn on_module(name: &'static str, run: &'static ModuleFn) -> Pass {
        Pass::of(name, Kind::Module(Action::Own(run)))
    }

    /// A pass of the compiler over each relax function.
    pub const fn on_function(name: &'static str, run: &'static FunctionFn) -> Pass {
        Pass::of(name, Kind::Function(Action::Own(run)))
    }

    /// A pass of the compiler over each prim-func.
    pub const fn on_prim_func(name: &'static str, run: &'static PrimFn) -> Pass {
        Pass::of(name, Kind::PrimFunc(Action::Own(run))).in_phase(PassPhase::Blocks)
    }

    /// A pass over modules from a closure.
    pub fn module<F>(name: &'static str, run: F) -> Pass
    where
        F: Fn(&mut Module, &PassContext) -> Result<(), CompileError> + Send + Sync + 'static,
    {
        Pass::of(name, Kind::Module(Action::Made(Arc::new(run))))
    }

    /// A pass over each relax function from a closure.
    pub fn function<F>(name: &'static str, run: F) -> Pass
    where
        F: Fn(relax::Function, &Module, &PassContext) -> Result<relax::Function, CompileError> + Send + Sync + 'static,
    {
        Pass::of(name, Kind::Function(Action::Made(Arc::new(run))))
    }

    /// A pass over each prim-func from a closure.
    pub fn prim_func<F>(name: &'static str, run: F) -> Pass
    where
        F: Fn(tir::PrimFunc, &Module, &PassContext) -> Result<tir::PrimFunc, CompileError> + Send + Sync + 'static,
    {
        Pass::of(name, Kind::PrimFunc(Action::Made(Arc::new(run)))).in_phase(PassPhase::Blocks)
    }

    /// Several passes in order, each by the enable rule.
    pub fn sequential(name: &'static str, passes: Vec<Pass>) -> Pass {
        Pass::of(name, Kind::Sequential(passes))
    }

    /// The same pass, run only where the context's level is at least `level`.
    pub const fn at_level(mut self, level: u32) -> Pass {
        self.info.opt_level = level;
        self
    }

    /// The same pass, with passes of the registry that run before it.
    pub const fn requires(mut self, names: &'static [&'static str]) -> Pass {
        self.info.required = names;
        self
    }

    /// The same pass at another place of the pipeline.
    pub const fn in_phase(mut self, phase: PassPhase) -> Pass {
        self.phase = phase;
        self
    }

    /// The same pass as one without which there is no code.
    pub const fn lowering(mut self) -> Pass {
        self.lowering = true;
        self
    }

    /// The same pass with a sentence of what it does.
    pub const fn about(mut self, about: &'static str) -> Pass {
        self.about = about;
        self
    }

    /// The same pass with the settings that it reads.
    pub const fn reads(mut self, config: &'static [ConfigKey]) -> Pass {
        self.config = config;
        self
    }
}
