//! The stack of contexts, settings, the environment, and the registry.

use super::*;
use crate::pass::{VARIABLES, config_keys, find};
use crate::{PASSES, PIPELINE};

#[test]
fn the_context_entered_last_is_the_current_one() {
    assert_eq!(PassContext::current().opt_level, 2);
    let outer = at(0).enter().unwrap();
    assert_eq!(PassContext::current().opt_level, 0);
    let inner = at(3).enter().unwrap();
    assert_eq!(PassContext::current().opt_level, 3);
    assert_eq!(std::thread::spawn(|| PassContext::current().opt_level).join().unwrap(), 2, "a stack per thread");
    inner.exit().unwrap();
    assert_eq!(PassContext::current().opt_level, 0);
    drop(outer);
    assert_eq!(PassContext::current().opt_level, 2);
}

#[test]
fn scopes_that_end_out_of_order_leave_nothing_behind() {
    let outer = at(0).enter().unwrap();
    let inner = at(3).enter().unwrap();
    drop(outer);
    drop(inner);
    assert_eq!(PassContext::current().opt_level, 2);
}

#[test]
fn names_of_passes_are_checked() {
    let mut context = context();
    context.disable("PadConv").unwrap();
    assert!(context.disabled.contains("PadConv"));
    context.require("PadConv").unwrap();
    assert!(context.required.contains("PadConv"));
    let error = context.disable("PadCon").unwrap_err();
    assert_eq!(error.message, "there is no pass `PadCon`");
    assert_eq!(error.help.as_deref(), Some("a similar name is `PadConv`"));
    let error = context.disable("VerifyBounds").unwrap_err();
    assert_eq!(error.message, "`VerifyBounds` cannot be disabled: there is no code without it");
}

fn follow(variables: &[(&str, &str)]) -> Result<PassContext, String> {
    let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
    PassContext::from_env(context().target, &find).map_err(|e| e.message)
}

#[test]
fn the_environment() {
    let context =
        follow(&[("TENFOLD_OPT_LEVEL", "0"), ("TENFOLD_REQUIRE", "PadConv"), ("TENFOLD_DISABLE", "")]).unwrap();
    assert_eq!((context.opt_level, context.required.len(), context.disabled.len()), (0, 1, 0));
    let context = follow(&[("TENFOLD_DISABLE", "PadConv, DeadCodeElimination")]).unwrap();
    assert_eq!(context.disabled.len(), 2);
}

#[test]
fn values_that_are_wrong_are_one_clear_error() {
    let cases = [
        ("TENFOLD_OPT_LEVEL", "4", "expected a level from 0 to 3"),
        ("TENFOLD_OPT_LEVEL", "fast", "expected a level from 0 to 3"),
        ("TENFOLD_REQUIRE", "Nothing", "there is no pass `Nothing`"),
        ("TENFOLD_DISABLE", "LowerEntry", "`LowerEntry` cannot be disabled: there is no code without it"),
        ("TENFOLD_CONFIG", "x", "expected `PASS.KEY=VALUE`, found `x`"),
        ("TENFOLD_CONFIG", "PadConv.x=1", "no pass has a setting `PadConv.x`"),
        ("TENFOLD_BISECT", "-1", "expected a number, or FUNCTION:NUMBER"),
        ("TENFOLD_VERIFY", "yes", "expected `0` or `1`"),
        ("TENFOLD_TIMING", "2", "expected `0` or `1`"),
        ("TENFOLD_PRINT", "during:PadConv", "expected `before:PASS` or `after:PASS`, found `during:`"),
        ("TENFOLD_PRINT", "after:Pad", "there is no pass `Pad`"),
        ("TENFOLD_DIFF", "Pad", "there is no pass `Pad`"),
    ];
    for (name, value, text) in cases {
        let error = follow(&[(name, value)]).err().unwrap_or_default();
        assert_eq!(error, format!("`{name}={value}`: {text}"));
    }
}

#[test]
fn every_variable_says_what_it_does() {
    for variable in VARIABLES {
        assert!(variable.name.starts_with("TENFOLD_") && !variable.syntax.is_empty() && !variable.about.is_empty());
    }
}

#[test]
fn the_registry_has_every_pass_once_and_by_name() {
    let names: Vec<&str> = PASSES.iter().map(|p| p.info.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    for pass in PIPELINE {
        let known = find(pass.info.name).unwrap_or_else(|| panic!("`{}` is not registered", pass.info.name));
        assert_eq!(known.info, pass.info);
    }
}

#[test]
fn every_pass_says_what_it_does_and_what_it_requires_exists() {
    for pass in PASSES {
        let name = pass.info.name;
        assert!(!pass.about.is_empty() && !pass.about.ends_with('.'), "{name}");
        assert!(pass.info.required.iter().all(|r| find(r).is_some()), "{name}");
        assert!(pass.info.opt_level <= 3, "{name}");
        assert!(!pass.lowering || pass.info.opt_level == 0, "{name} lowers and runs at every level");
    }
}

#[test]
fn phases_of_the_pipeline_come_in_order() {
    let pairs = PIPELINE.iter().zip(PIPELINE.iter().skip(1));
    for (a, b) in pairs {
        assert!(a.phase <= b.phase, "{a:?} stands before {b:?}; say `.in_phase(…)` in the pipeline");
    }
}

#[test]
fn settings_belong_to_one_pass_and_are_named_after_it() {
    let all: usize = PASSES.iter().map(|p| p.config.len()).sum();
    assert_eq!(all, config_keys().len(), "a key is registered twice");
    for pass in PASSES {
        for key in pass.config {
            assert!(key.name().starts_with(&format!("{}.", pass.info.name)), "{}", key.name());
            assert!(!key.doc().is_empty(), "{}", key.name());
            assert!(context().set(key.name(), key.default()).is_ok(), "the default of {}", key.name());
        }
    }
}
