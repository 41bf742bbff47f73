//! Functions whose numbers are wrong, which no text gives.

use super::{UNWRITABLE, violations};
use crate::tir::{Access, BufUse, Builder, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, Ty};
use crate::{DType, Module};

fn broken(build: impl FnOnce(&mut Builder)) -> Vec<&'static str> {
    let mut b = Builder::new("broken");
    build(&mut b);
    rules(&b.finish())
}

fn rules(func: &PrimFunc) -> Vec<&'static str> {
    violations(&Module::default(), func).into_iter().map(|v| v.rule.name).collect()
}

#[test]
fn numbers_that_are_wrong() {
    let missing = broken(|b| b.push(Stmt::Evaluate(ExprId(7))));
    let order = broken(|b| {
        let own = b.raw(Expr::Broadcast(ExprId(0), 2), Ty { lanes: 2, ..Ty::index() });
        b.push(Stmt::Evaluate(own));
    });
    let twice = broken(|b| {
        let (i, one) = (b.index_var("i"), b.index(1));
        b.for_(i, one, |_| {});
        b.for_(i, one, |_| {});
    });
    let float_loop = broken(|b| {
        let (i, one) = (b.var("i", Ty::scalar(DType::F32)), b.index(1));
        b.push(Stmt::loop_(i, one, one, LoopKind::Serial, Stmt::nop()));
    });
    let scope = broken(|b| {
        let out = b.buffer_param("out", DType::F32, vec![1.into()], BufUse::Out);
        let (at, value) = (b.index(0), b.float(DType::F32, 0.0));
        b.push(Stmt::Store { buf: out, index: vec![at], value, access: Access::Proven });
        b.buf_mut(out).scope = Scope::Global;
    });
    for (rule, found) in UNWRITABLE.into_iter().zip([missing, order, twice, float_loop, scope]) {
        assert!(found.contains(&rule), "expected a breach of `{rule}`, found {found:?}");
    }
}
