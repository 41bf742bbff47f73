//! Calls that the threads of a warp make together, and what they give.

use super::{Ir, Value};
use inkwell::llvm_sys::LLVMAttributeFunctionIndex;
use inkwell::llvm_sys::core::{
    LLVMAddCallSiteAttribute, LLVMBuildExtractValue, LLVMCreateEnumAttribute, LLVMGetEnumAttributeKindForName,
};

impl<'c> Ir<'c, '_> {
    /// The call, which stays where all threads come: LLVM does not know this of every intrinsic.
    pub(crate) fn together(&self, call: Value<'c>) -> Value<'c> {
        let name = "convergent";
        let kind = llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
        let attribute = llvm!(LLVMCreateEnumAttribute(self.context, kind, 0));
        llvm!(LLVMAddCallSiteAttribute(call.0, LLVMAttributeFunctionIndex, attribute));
        call
    }

    /// One of several values that a call gives.
    pub(crate) fn part(&self, all: Value<'c>, number: u32) -> Value<'c> {
        Value::new(llvm!(LLVMBuildExtractValue(self.builder, all.0, number, c"".as_ptr())))
    }
}
