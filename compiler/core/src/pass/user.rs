//! Passes of the user: closures of a build script, at a phase of the pipeline.
//!
//! Nothing they do can break a program that compiles: the verifier runs behind each, the entry keeps its signature,
//! and accesses are proven again. Behind [`PassPhase::Loops`] nothing could prove them, so none may stand there unless
//! it is trusted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenfold_ir::{Function, Module, relax};

use super::{Pass, PassContext, PassPhase, verify, wrong};
use crate::CompileError;

/// What a pass of the user does. What it refuses is an error on the user's function.
pub type UserFn = dyn Fn(&mut Module, &PassContext) -> Result<(), String> + Send + Sync;

/// A pass of the user.
#[derive(Clone)]
pub struct UserPass {
    pub(crate) pass: Pass,
}

impl std::fmt::Debug for UserPass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {:?}", self.pass.info.name, self.pass.phase)
    }
}

impl UserPass {
    /// A pass behind the last one of `phase`.
    pub fn new(phase: PassPhase, name: &'static str, run: Arc<UserFn>) -> Self {
        let refused = (phase > PassPhase::Loops).then(|| unproven(name, phase));
        let act = move |module: &mut Module, context: &PassContext| match &refused {
            Some(error) => Err(error.clone()),
            None => checked(name, &*run, module, context),
        };
        UserPass { pass: Pass::module(name, act).in_phase(phase).about("a pass of the build script") }
    }

    /// The same at any phase. Behind [`PassPhase::Loops`] nothing checks that every access stays inside its buffer: a
    /// pass there that gets one wrong makes a safe function access memory that is not its own.
    pub fn trusted(phase: PassPhase, name: &'static str, run: Arc<UserFn>) -> Self {
        let act = move |module: &mut Module, context: &PassContext| checked(name, &*run, module, context);
        UserPass { pass: Pass::module(name, act).in_phase(phase).about("a trusted pass of the build script") }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.pass.info.name
    }

    /// Where it stands.
    pub fn phase(&self) -> PassPhase {
        self.pass.phase
    }
}

fn unproven(name: &str, phase: PassPhase) -> CompileError {
    let message = format!("the pass `{name}` stands in phase `{}`, where no access is proven again", phase.name());
    wrong(message, Some("put it in `Loops` or before, or add it as a trusted pass".into()))
}

fn checked(name: &'static str, run: &UserFn, module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let before = signature(module);
    let failed = |text: String| wrong(format!("the pass `{name}` of the build script {text}"), None);
    match catch_unwind(AssertUnwindSafe(|| run(module, context))) {
        Ok(Ok(())) => {}
        Ok(Err(text)) => return Err(failed(format!("refuses: {text}"))),
        Err(payload) => return Err(failed(format!("panicked: {}", panic_text(&*payload)))),
    }
    if signature(module) != before {
        return Err(failed("changed how the function is called".into()));
    }
    let info = super::PassInfo { name, opt_level: 0, required: &[] };
    verify(&info, module).map_err(|error| wrong(error.message, error.help))
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// What the macro relies on when it emits the call.
fn signature(module: &Module) -> Option<String> {
    match module.functions.get(&module.entry)? {
        Function::Relax(f) => {
            let params = f.params.iter().map(|p| (p.kind, p.position, &f.values[p.value.0 as usize].ty));
            let results = f.results.iter().map(|r| f.values.get(r.0 as usize).map(|data| &data.ty));
            let dims = f.syms.iter().filter(|s| !matches!(s.kind, relax::SymKind::Bound(_)));
            let dims = dims.map(|s| (&s.sym, &s.kind));
            let facts = f.facts.iter().map(|f| (&f.fact, &f.text));
            let parts = (params.collect::<Vec<_>>(), results.collect::<Vec<_>>());
            Some(format!("{parts:?} {:?} {:?}", dims.collect::<Vec<_>>(), facts.collect::<Vec<_>>()))
        }
        Function::Prim(f) => {
            let buffers = f.buffers.iter().filter(|b| b.scope == tenfold_ir::tir::Scope::Param);
            let buffers = buffers.map(|b| (b.dtype, &b.shape, &b.strides));
            Some(format!("{:?} {:?} {:?} {}", f.params, buffers.collect::<Vec<_>>(), f.facts, f.exported))
        }
    }
}
