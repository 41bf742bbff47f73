//! A value that LLVM knows nothing of.

use super::{Ir, Value};
use inkwell::llvm_sys::LLVMInlineAsmDialect;
use inkwell::llvm_sys::core::{LLVMFunctionType, LLVMGetInlineAsm, LLVMTypeOf};

impl<'c> Ir<'c, '_> {
    /// The same vector behind assembly of no instruction, so that what is done with it is not done with what it is made of.
    /// For x86-64, whose vector registers `v` stands for.
    pub(crate) fn opaque(&self, vector: Value<'c>) -> Value<'c> {
        let ty = llvm!(LLVMTypeOf(vector.0));
        let (text, constraints, mut of) = ("", "=v,0", [ty]);
        let ty = llvm!(LLVMFunctionType(ty, of.as_mut_ptr(), 1, 0));
        let (text, constraints) =
            ((text.as_ptr().cast(), text.len()), (constraints.as_ptr().cast(), constraints.len()));
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        let asm = llvm!(LLVMGetInlineAsm(ty, text.0, text.1, constraints.0, constraints.1, 0, 0, dialect, 0));
        self.call_raw(ty, asm, &[vector])
    }
}
