//! Calls of functions outside the module.
//!
//! The C convention: operands in order, then results. A scalar that is only read goes by value, any other tensor as the
//! pointer to its elements. Behind each pointer, a shim of a Rust function is told the extents, of which it makes a
//! view; a C function gets what the source lists and nothing else.

use tenfold_ir::relax::{Binding, Extern, Linkage, Op, TensorType};
use tenfold_ir::tir::{BufId, BufUse, Builder, CallArg, Param, PrimFunc, Stmt};
use tenfold_ir::{Function, Loc};

use super::super::tensor_of;
use super::Entry;
use crate::{CompileError, ErrorKind};

/// An argument, as the caller has it.
struct Passed {
    buf: BufId,
    ty: TensorType,
    usage: BufUse,
}

impl Entry<'_> {
    /// A call that fills its results or updates operands.
    pub(super) fn outside(&mut self, binding: &Binding, loc: Loc) -> Result<(), CompileError> {
        let (callee, passed) = match &binding.op {
            Op::CallDps { callee, results } => (callee, self.filled(binding, results)),
            Op::CallPacked { callee, updates } => (callee, self.updated(binding, updates)),
            _ => return Ok(()),
        };
        let Some(symbol) = callee.link_name() else {
            return Err(CompileError::internal(loc, format!("`{}` has no symbol", callee.path)));
        };
        let declared = declaration(symbol, callee.linkage, &passed);
        let args = passed.iter().flat_map(|one| self.arguments(one, callee.linkage)).collect();
        let func = declared.name.clone();
        self.declare(declared, callee, loc)?;
        self.b.push(Stmt::At(loc, Box::new(Stmt::Call { func, args, launch: None })));
        Ok(())
    }

    fn filled(&mut self, binding: &Binding, results: &[TensorType]) -> Vec<Passed> {
        let mut all = self.operands(binding, &[]);
        for (index, ty) in results.iter().enumerate() {
            let place = self.component(binding.out, index, results.len());
            all.push(Passed { buf: self.buffer(&place, ty), ty: ty.clone(), usage: BufUse::Out });
        }
        all
    }

    fn updated(&mut self, binding: &Binding, updates: &[usize]) -> Vec<Passed> {
        self.operands(binding, updates)
    }

    fn operands(&mut self, binding: &Binding, updates: &[usize]) -> Vec<Passed> {
        let operands = binding.args.iter().enumerate();
        operands
            .map(|(index, arg)| {
                let usage = if updates.contains(&index) { BufUse::InOut } else { BufUse::In };
                Passed { buf: self.value(*arg), ty: tensor_of(self.func, *arg), usage }
            })
            .collect()
    }

    fn arguments(&mut self, one: &Passed, linkage: Linkage) -> Vec<CallArg> {
        if by_value(one) {
            return vec![CallArg::Value(self.b.read_local(one.buf))];
        }
        let mut args = vec![CallArg::Buffer(one.buf)];
        if linkage == Linkage::Rust {
            args.extend(one.ty.shape.iter().map(|extent| CallArg::Value(self.b.int_expr(extent))));
        }
        args
    }

    /// Adds the declaration; a C function has one type.
    fn declare(&mut self, declared: PrimFunc, callee: &Extern, loc: Loc) -> Result<(), CompileError> {
        let found = self.outside.entry(declared.name.clone()).or_insert_with(|| declared.clone());
        if kinds(found) == kinds(&declared) {
            return Ok(());
        }
        Err(CompileError {
            kind: ErrorKind::Extern,
            loc,
            message: format!("`{}` is called with operands of one type here and of another before", callee.path),
            help: Some("a function outside has one type: write one for each".into()),
        })
    }

    /// The functions outside the module that are called.
    pub(super) fn declarations(&mut self) -> Vec<(String, Function)> {
        std::mem::take(&mut self.outside).into_iter().map(|(name, func)| (name, Function::Prim(func))).collect()
    }
}

fn by_value(one: &Passed) -> bool {
    one.usage == BufUse::In && one.ty.shape.is_empty()
}

fn declaration(symbol: &str, linkage: Linkage, passed: &[Passed]) -> PrimFunc {
    let mut b = Builder::new("");
    for (number, one) in passed.iter().enumerate() {
        if by_value(one) {
            b.scalar_param(&format!("p{number}"), one.ty.dtype);
            continue;
        }
        b.buffer_param(&format!("p{number}"), one.ty.dtype, Vec::new(), one.usage);
        let extents = if linkage == Linkage::Rust { one.ty.shape.len() } else { 0 };
        for axis in 0..extents {
            let var = b.index_var(&format!("p{number}_{axis}"));
            b.func_mut().params.push(Param::Value(var));
        }
    }
    let outside = PrimFunc::outside(symbol);
    PrimFunc { name: outside.name, phase: outside.phase, kind: outside.kind, ..b.finish() }
}

/// What a call of it passes, parameter by parameter.
fn kinds(func: &PrimFunc) -> Vec<String> {
    let kind = |param: &Param| match param {
        Param::Buffer(buf, usage) => format!("{usage:?} {}", func.buffers[buf.0 as usize].dtype),
        Param::Value(var) => func.vars[var.0 as usize].ty.to_string(),
        Param::Workspace => String::from("workspace"),
    };
    func.params.iter().map(kind).collect()
}
