//! Calls that the threads of a warp make together, and what they give.

use super::{Ir, Value};
use inkwell::llvm_sys::LLVMAttributeFunctionIndex;
use inkwell::llvm_sys::core::{
    LLVMAddCallSiteAttribute, LLVMBuildAddrSpaceCast, LLVMBuildExtractValue, LLVMCreateEnumAttribute,
    LLVMGetEnumAttributeKindForName, LLVMPointerTypeInContext,
};

/// The address space of memory that all groups see.
const GLOBAL: u32 = 1;

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

    /// A place in memory that all groups see, as a pointer into that memory alone.
    pub(crate) fn in_global(&self, place: Value<'c>) -> Value<'c> {
        let pointer = llvm!(LLVMPointerTypeInContext(self.context, GLOBAL));
        Value::new(llvm!(LLVMBuildAddrSpaceCast(self.builder, place.0, pointer, c"".as_ptr())))
    }
}
