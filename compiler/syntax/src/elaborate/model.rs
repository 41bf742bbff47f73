//! Calls of functions whose body is a model in a file: the model's functions join the module, and the call is one of the
//! graph.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Op, TensorType, Type, ValueId};
use tenfold_ir::tir::Scope;
use tenfold_ir::{ConstId, Function, Loc, Module};

use super::cx::Elaborator;
use super::inline::Callable;
use super::value::Value;
use crate::ast::{Call, NodeId};
use crate::code::Code;
use crate::signature::Signature;

impl<'a> Elaborator<'a> {
    /// The call of a model.
    pub(super) fn model_call(
        &mut self,
        node: NodeId,
        call: &Call,
        callee: &Callable<'a>,
        signature: &Signature,
        (dims, values): (&BTreeMap<Sym, IntExpr>, Vec<Value<'a>>),
    ) -> Value<'a> {
        if self.inside {
            let message = format!("`{}` is a model, and this closure holds scalars", call.callee);
            return self.fail(node, Code::TensorInClosure, message, "call it outside of the closure");
        }
        let module = match callee.environment.model(&callee.instance) {
            None => return self.error_value(),
            Some(Err(first)) => {
                let message = format!("`{}` does not compile: {}", call.callee, first.message);
                return self.fail(node, Code::CalleeError, message, "see the errors of that function");
            }
            Some(Ok(module)) => module,
        };
        let args: Option<Vec<ValueId>> = values.iter().map(|value| self.as_tensor(node, value)).collect();
        let Some(args) = args else { return Value::Unknown };
        let substitute = |e: &IntExpr| e.substitute(&|sym: &Sym| dims.get(sym).cloned());
        let result = |r: &crate::signature::SigResult| {
            Type::Tensor(TensorType { dtype: r.dtype, shape: r.dims.iter().map(substitute).collect() })
        };
        let mut results: Vec<Type> = signature.results.iter().map(result).collect();
        let result = if results.len() == 1 { results.remove(0) } else { Type::Tuple(results) };
        let func = self.joined(module, &callee.path);
        match self.emit(node, Op::CallFn { func, syms: Vec::new(), result }, &args, &[]) {
            Some(out) if signature.result_is_tuple && signature.results.len() == 1 => {
                Value::Tuple(vec![Value::Tensor(out)])
            }
            Some(out) => self.unpacked(node, out),
            None => Value::Unknown,
        }
    }

    /// Adds the functions and constants of a model to the module, under names that no other function has; gives the
    /// entry's.
    fn joined(&mut self, other: Module, path: &str) -> String {
        let count = self.module.functions.keys().filter(|name| name.contains('.')).count();
        let name_of = |name: &str| format!("{}.{count}.{name}", other.entry);
        let constants: Vec<ConstId> =
            other.constants.iter().map(|data| self.module.add_constant(data.clone())).collect();
        let moved = |id: &mut ConstId| *id = constants[id.0 as usize];
        let loc = Loc { function: self.source(path), node: NodeId::FUNCTION.0 };
        let entry = name_of(&other.entry);
        for (name, mut function) in other.functions.clone() {
            match &mut function {
                Function::Relax(f) => {
                    f.name = name_of(&name);
                    f.values.iter_mut().for_each(|value| value.loc = loc);
                    f.bindings_mut(|binding| match &mut binding.op {
                        Op::Const(id) => moved(id),
                        Op::CallFn { func, .. } | Op::CallTir { func, .. } => *func = name_of(func),
                        _ => {}
                    });
                }
                Function::Prim(f) => {
                    f.name = name_of(&name);
                    f.loc = loc;
                    for buffer in &mut f.buffers {
                        if let Scope::Const(id) = &mut buffer.scope {
                            moved(id);
                        }
                    }
                }
            }
            self.module.functions.insert(name_of(&name), function);
        }
        entry
    }
}
