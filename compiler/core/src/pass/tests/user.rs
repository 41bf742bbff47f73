//! Passes of a build script in the pipeline.

use super::*;
use crate::backend::{Artefact, Backend, BackendError, CodegenOptions};
use crate::pass::{PassPhase, UserPass};
use crate::{ErrorKind, Options, compile, pipeline};

/// Makes nothing.
struct Nothing;

impl Backend for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }
    fn identity(&self) -> String {
        "nothing".into()
    }
    fn build(&self, _: &Module, _: &Target, _: &CodegenOptions) -> Result<Artefact, BackendError> {
        Ok(Artefact::default())
    }
}

/// `y = x + x`.
fn double() -> Module {
    let mut module = Module { entry: "f".into(), sources: vec!["f".into()], ..Module::default() };
    let graph = "relax @f phase imported {\n  param v0: f32[4] = input 0 \"x\"\n  dataflow {\n    v1: f32[4] = add(v0, v0)\n  }\n  return v1\n}\n";
    module.functions.insert("f".into(), Function::Relax(relax::parse_function(graph).expect("a graph")));
    module
}

fn compiled(passes: Vec<UserPass>) -> Result<(), CompileError> {
    let options = Options { passes, ..Options::default() };
    compile(double(), &context(), &options, &Nothing).map(|_| ()).map_err(|errors| errors[0].clone())
}

fn user(phase: PassPhase, run: impl Fn(&mut Module) -> Result<(), String> + Send + Sync + 'static) -> UserPass {
    UserPass::new(phase, "Mine", Arc::new(move |module: &mut Module, _: &PassContext| run(module)))
}

#[test]
fn each_phase_is_where_it_says() {
    let form = |module: &Module| match &module.functions["f"] {
        Function::Relax(f) => format!("{:?}", f.phase),
        Function::Prim(f) => format!("{:?}", f.phase),
    };
    let expected = [
        (PassPhase::Import, "Normalised"),
        (PassPhase::Graph, "Materialised"),
        (PassPhase::Fusion, "Legalised"),
        (PassPhase::Schedule, "Legalised"),
        (PassPhase::Memory, "Scheduled"),
        (PassPhase::Blocks, "Scheduled"),
        (PassPhase::Loops, "Scheduled"),
        (PassPhase::Flat, "Flat"),
        (PassPhase::Target, "Target"),
    ];
    for (phase, text) in expected {
        let log = Log::default();
        let seen = log.clone();
        let run = move |module: &mut Module, _: &PassContext| {
            seen.say(form(module));
            Ok(())
        };
        compiled(vec![UserPass::trusted(phase, "Mine", Arc::new(run))]).unwrap();
        assert_eq!(log.take(), [text], "{phase:?}");
    }
}

#[test]
fn what_it_refuses_is_the_users_error() {
    let error = compiled(vec![user(PassPhase::Graph, |_| Err("too large".into()))]).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Passes, "the pass `Mine` of the build script refuses: too large")
    );
    let error = compiled(vec![user(PassPhase::Graph, |_| panic!("oh no"))]).unwrap_err();
    assert_eq!(error.message, "the pass `Mine` of the build script panicked: oh no");
}

#[test]
fn it_cannot_change_the_signature_or_break_a_law() {
    let error = compiled(vec![user(PassPhase::Graph, |module| {
        let Some(Function::Relax(f)) = module.functions.get_mut("f") else { return Ok(()) };
        f.results.clear();
        Ok(())
    })]);
    assert_eq!(error.unwrap_err().message, "the pass `Mine` of the build script changed how the function is called");
    let error = compiled(vec![user(PassPhase::Graph, |module| {
        let Some(Function::Relax(f)) = module.functions.get_mut("f") else { return Ok(()) };
        f.blocks[0].bindings[0].args.pop();
        Ok(())
    })]);
    let error = error.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Passes);
    assert!(error.message.starts_with("after pass `Mine`, function `f` breaks a law: "), "{}", error.message);
}

/// Moves every load of every kernel by a number of elements.
fn shifted(module: &mut Module) -> Result<(), String> {
    for function in module.functions.values_mut() {
        let Function::Prim(f) = function else { continue };
        let body = std::mem::replace(&mut f.body, tir::Stmt::Seq(Vec::new()));
        let mut b = tir::Builder::resume(f.clone());
        let mut shift = tir::ExprMap::new(|b: &mut tir::Builder, id| match b.func().exprs.get(id).clone() {
            tir::Expr::Load { buf, index, access } => {
                let (ty, one) = (b.ty(id), b.index(1));
                let index = index.into_iter().map(|i| b.add(i, one)).collect();
                b.raw(tir::Expr::Load { buf, index, access }, ty)
            }
            _ => id,
        });
        let body = shift.stmt(&mut b, body);
        b.push(body);
        *f = b.finish();
    }
    Ok(())
}

#[test]
fn accesses_are_proven_again() {
    for phase in [PassPhase::Schedule, PassPhase::Memory, PassPhase::Blocks, PassPhase::Loops] {
        let error = compiled(vec![user(phase, shifted)]).unwrap_err();
        assert!(error.message.contains("not proven"), "{phase:?}: {}", error.message);
        compiled(vec![user(phase, |_| Ok(()))]).unwrap_or_else(|e| panic!("{phase:?}: {}", e.message));
    }
}

#[test]
fn where_nothing_is_proven_only_a_trusted_pass_may_stand() {
    for phase in [PassPhase::Flat, PassPhase::Target] {
        let error = compiled(vec![user(phase, |_| Ok(()))]).unwrap_err();
        assert!(error.message.ends_with("where no access is proven again"), "{}", error.message);
        let run = |_: &mut Module, _: &PassContext| Ok(());
        compiled(vec![UserPass::trusted(phase, "Mine", Arc::new(run))]).unwrap();
    }
}

#[test]
fn several_stand_in_the_order_in_which_they_were_added() {
    let log = Log::default();
    let say = |phase, text: &'static str| {
        let log = log.clone();
        user(phase, move |_| {
            log.say(text);
            Ok(())
        })
    };
    compiled(vec![say(PassPhase::Loops, "last"), say(PassPhase::Graph, "a"), say(PassPhase::Graph, "b")]).unwrap();
    assert_eq!(log.take(), ["a", "b", "last"]);
    assert_eq!(pipeline::with(&[]).len(), crate::PIPELINE.len());
}
