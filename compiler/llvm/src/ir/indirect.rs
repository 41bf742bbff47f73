//! Calls through pointers, and the pointer to nothing.

use super::{Ir, Value};
use inkwell::llvm_sys::core::{LLVMConstNull, LLVMFunctionType, LLVMTypeOf, LLVMVoidTypeInContext};
use inkwell::llvm_sys::prelude::LLVMTypeRef;

impl<'c> Ir<'c, '_> {
    /// The pointer to nothing.
    pub(crate) fn null(&self) -> Value<'c> {
        Value::new(llvm!(LLVMConstNull(self.pointer().0)))
    }

    /// A call of what a pointer shows, which takes these arguments and gives nothing.
    pub(crate) fn call_through(&self, function: Value<'c>, arguments: &[Value<'c>]) {
        let mut types: Vec<LLVMTypeRef> = arguments.iter().map(|value| llvm!(LLVMTypeOf(value.0))).collect();
        let nothing = llvm!(LLVMVoidTypeInContext(self.context));
        let ty = llvm!(LLVMFunctionType(nothing, types.as_mut_ptr(), types.len() as u32, 0));
        self.call_raw(ty, function.0, arguments);
    }
}
