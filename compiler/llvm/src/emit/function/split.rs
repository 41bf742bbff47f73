//! Calls of functions whose parts run on threads: through the context that came with the call of the entry, or here.

use tenfold_ir::tir::{CallArg, ExprId, Param};

use super::super::{Cx, Declared, Seen, Value, describe};
use super::{Body, Result};
use crate::ir::{Int, Type};

/// Bytes of a cell, which holds any argument.
const CELL: u32 = 8;

impl<'c> Body<'_, 'c, '_> {
    /// Runs all turns here where there is no context; else hands them to it, with the arguments in memory.
    pub(super) fn split(&mut self, func: &str, args: &[CallArg], turns: ExprId, work: ExprId) -> Result<()> {
        let ir = self.cx.ir;
        let callee = self.callee(func)?;
        let values = self.arguments(callee, args)?;
        let word = ir.int(self.cx.target.pointer_bits);
        let turns = ir.resize(true, self.expr(turns)?, word);
        let work = ir.resize(true, self.expr(work)?, word);
        let Some(context) = self.context else { return Err(format!("`{func}` is split without a context")) };
        let (alone, shared, after) = (ir.block(self.function), ir.block(self.function), ir.block(self.function));
        ir.branch(ir.icmp(Int::LLVMIntEQ, context, ir.null()), alone, shared);
        ir.at_end(alone);
        self.cx.part(callee, values.clone(), [ir.const_int(word, 0), turns]);
        ir.jump(after);
        ir.at_end(shared);
        let captures = self.captures(&values);
        let here = ir.here();
        ir.place(None);
        let body = self.cx.part_function(callee);
        ir.at_end(here);
        ir.place(self.place);
        let split = ir.load(ir.pointer(), context, self.cx.target.pointer_bits / 8);
        ir.call_through(split, &[context, body, captures, turns, work]);
        ir.jump(after);
        ir.at_end(after);
        Ok(())
    }

    /// The arguments in memory of the stack, a cell each.
    fn captures(&mut self, values: &[Value<'c>]) -> Value<'c> {
        let ir = self.cx.ir;
        let cell = ir.int(64);
        let memory = self.on_stack(ir.array(cell, values.len().max(1) as u64), CELL);
        for (number, value) in (0..).zip(values) {
            ir.store(*value, ir.element(cell, memory, ir.const_int(cell, number)), CELL);
        }
        memory
    }
}

impl<'c> Cx<'_, 'c, '_> {
    /// Calls a function with the arguments and a part of the turns; it has no threads of its own.
    fn part(&self, callee: Declared<'_, 'c>, mut values: Vec<Value<'c>>, part: [Value<'c>; 2]) {
        let ir = self.ir;
        let params = &callee.prim.params;
        let types = params[params.len().saturating_sub(2)..].iter().map(|p| self.parameter_type(callee.prim, p));
        values.extend(types.zip(part).map(|(ty, value)| ir.resize(true, value, ty)));
        values.extend(callee.context.then(|| ir.null()));
        ir.call(callee.value, &values);
    }

    /// `void (const void *captures, ptrdiff_t begin, ptrdiff_t count)`: what a context calls.
    fn part_function(&self, callee: Declared<'_, 'c>) -> Value<'c> {
        let ir = self.ir;
        let (pointer, word) = (ir.pointer(), ir.int(self.target.pointer_bits));
        let name = format!("{}.part", callee.prim.name);
        let function = ir.function(&name, &[pointer, word, word], None, Seen::Inside);
        describe(ir, function, self.machine, self.target);
        if let Some(section) = self.section(&name) {
            ir.section(function, &section);
        }
        ir.at_end(ir.block(function));
        let [captures, begin, count] = [0, 1, 2].map(|n| ir.parameter(function, n));
        let given = &callee.prim.params[..callee.prim.params.len().saturating_sub(2)];
        let cell = ir.int(64);
        let load =
            |(number, ty): (i64, Type<'c>)| ir.load(ty, ir.element(cell, captures, ir.const_int(cell, number)), CELL);
        let types = given.iter().map(|param: &Param| self.parameter_type(callee.prim, param));
        let values = (0..).zip(types).map(load).collect();
        self.part(callee, values, [begin, count]);
        ir.ret(None);
        function
    }
}
