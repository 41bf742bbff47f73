//! The four kinds of passes, the enable rule, and passes that others require.

use super::*;
use crate::ErrorKind;
use crate::pass::{Verify, run, run_pass};

#[test]
fn the_enable_rule() {
    let info = |level| PassInfo { name: "P", opt_level: level, required: &[] };
    let with = |disabled: bool, required: bool, opt_level: u32| {
        let mut context = at(opt_level);
        if disabled {
            context.disabled.insert("P".into());
        }
        if required {
            context.required.insert("P".into());
        }
        context
    };
    // Disabled comes first, then required, then the level.
    assert!(!with(true, true, 3).enables(&info(0)));
    assert!(!with(true, false, 3).enables(&info(0)));
    assert!(with(false, true, 0).enables(&info(3)));
    assert!(with(false, false, 2).enables(&info(2)));
    assert!(!with(false, false, 2).enables(&info(3)));
    assert!(!with(false, false, 0).enables(&info(1)));
}

#[test]
fn what_is_not_enabled_does_not_run() {
    let log = Log::default();
    let mut context = context();
    context.disabled.insert("P".into());
    run(&[named(&log, "P"), named(&log, "Q").at_level(3), named(&log, "R")], &mut module(), &context).unwrap();
    assert_eq!(log.take(), ["R"]);
}

#[test]
fn a_module_pass_may_add_functions() {
    let add = Pass::module("Add", |module, _| {
        let f = module.functions["f"].clone();
        module.functions.insert("g".into(), f);
        Ok(())
    });
    let mut context = context();
    // Its name is still `f`.
    context.verify = false;
    let mut module = module();
    run(&[add], &mut module, &context).unwrap();
    assert!(module.functions.contains_key("g"));
}

#[test]
fn function_passes_see_the_functions_of_their_kind() {
    let log = Log::default();
    let (a, b) = (log.clone(), log.clone());
    let graphs = Pass::function("Graphs", move |f, module, _| {
        a.say(format!("{} of {}", f.name, module.functions.len()));
        Ok(f)
    });
    let loops = Pass::prim_func("Loops", move |f, module, _| {
        b.say(format!("{} of {}", f.name, module.functions.len()));
        Ok(f)
    });
    run(&[graphs, loops], &mut module(), &context()).unwrap();
    assert_eq!(log.take(), ["f of 2", "p of 2"]);
}

#[test]
fn function_passes_skip_what_asks_for_it_unless_they_lower() {
    let log = Log::default();
    let graphs = |name: &'static str| {
        let log = log.clone();
        Pass::function(name, move |f, _, _| {
            log.say(name);
            Ok(f)
        })
    };
    let loops = |name: &'static str| {
        let log = log.clone();
        Pass::prim_func(name, move |f, _, _| {
            log.say(name);
            Ok(f)
        })
    };
    let mut module = module();
    for function in module.functions.values_mut() {
        match function {
            Function::Relax(f) => f.skip_optimization = true,
            Function::Prim(f) => f.skip_optimization = true,
        }
    }
    let passes = [graphs("A"), loops("B"), graphs("C").lowering(), loops("D").lowering()];
    run(&passes, &mut module, &context()).unwrap();
    assert_eq!(log.take(), ["C", "D"]);
}

#[test]
fn a_function_pass_cannot_rename() {
    let rename = Pass::function("Rename", |f, _, _| Ok(relax::Function { name: "other".into(), ..f }));
    let error = run(&[rename], &mut module(), &context()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(error.message, "`Rename` is a function pass and renamed `f` to `other`");
    let rename = Pass::prim_func("Rename", |f, _, _| Ok(tir::PrimFunc { name: "other".into(), ..f }));
    let error = run(&[rename], &mut module(), &context()).unwrap_err();
    assert_eq!(error.message, "`Rename` is a prim-func pass and renamed `p` to `other`");
}

#[test]
fn a_sequential_pass_is_a_pass_and_nests() {
    let log = Log::default();
    let inner = Pass::sequential("Inner", vec![named(&log, "P"), named(&log, "Q")]);
    let outer = Pass::sequential("Outer", vec![inner.clone(), named(&log, "R"), inner]);
    let mut context = context();
    context.disabled.insert("Q".into());
    run(std::slice::from_ref(&outer), &mut module(), &context).unwrap();
    assert_eq!(log.take(), ["P", "R", "P"]);
    context.disabled.insert("Inner".into());
    run(&[outer], &mut module(), &context).unwrap();
    assert_eq!(log.take(), ["R"]);
}

#[test]
fn required_passes_run_first_by_name_whether_enabled_or_not() {
    let log = Log::default();
    let mut context = context();
    context.watch(Watcher::boxed(&log, "A", ""));
    context.disabled.insert("DeadCodeElimination".into());
    let pass = named(&log, "P").requires(&["DeadCodeElimination"]);
    run(&[pass], &mut module(), &context).unwrap();
    let before: Vec<String> = log.take().into_iter().filter(|l| l.contains("before") || l == "P").collect();
    assert_eq!(before, ["A before DeadCodeElimination", "A before P", "P"]);
}

#[test]
fn a_required_pass_that_does_not_exist_is_an_error() {
    let pass = named(&Log::default(), "P").requires(&["DeadCodeEliminatoin"]);
    let error = run(&[pass], &mut module(), &context()).unwrap_err();
    assert_eq!(error.message, "there is no pass `DeadCodeEliminatoin`");
    assert_eq!(error.help.as_deref(), Some("a similar name is `DeadCodeElimination`"));
}

#[test]
fn several_errors_of_one_pass_stop_behind_it() {
    let log = Log::default();
    let complain = Pass::module("Complain", |_, context| {
        context.emit(refused("first"));
        context.emit(refused("second"));
        Ok(())
    });
    let context = context();
    let error = run(&[complain, named(&log, "P")], &mut module(), &context).unwrap_err();
    assert_eq!(error.message, "first");
    assert_eq!(context.take_diagnostics().len(), 2);
    assert!(log.take().is_empty(), "no pass runs behind an error");
}

/// Returns a value that does not exist.
fn breaking() -> Pass {
    Pass::function("Breaking", |mut f, _, _| {
        f.results = vec![relax::ValueId(7)];
        Ok(f)
    })
}

#[test]
fn the_verifier_names_the_pass_that_broke_a_law() {
    let mut context = context();
    context.verify = true;
    let error = run(&[breaking()], &mut module(), &context).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.starts_with("after pass `Breaking`, function `f` breaks a law: "), "{}", error.message);
}

#[test]
fn the_verifier_as_an_instrument() {
    let mut context = context();
    context.verify = false;
    assert!(run_pass(&breaking(), &mut module(), &context).is_ok());
    context.watch(Box::new(Verify));
    assert!(run_pass(&breaking(), &mut module(), &context).is_err());
}

#[test]
fn threads_inherit_the_instruments_of_a_context_they_are_given() {
    let log = Log::default();
    let mut context = context();
    context.watch(Watcher::boxed(&log, "A", ""));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| run_pass(&named(&Log::default(), "P"), &mut module(), &context).unwrap());
        }
    });
    assert_eq!(log.take().iter().filter(|l| *l == "A before P").count(), 2);
}
