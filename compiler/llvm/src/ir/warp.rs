//! Calls that the threads of a warp make together, and what they give.

use super::{Ir, Type, Value};
use inkwell::llvm_sys::LLVMAttributeFunctionIndex;
use inkwell::llvm_sys::LLVMInlineAsmDialect;
use inkwell::llvm_sys::core::{
    LLVMAddCallSiteAttribute, LLVMBuildAddrSpaceCast, LLVMBuildExtractValue, LLVMCreateEnumAttribute, LLVMFunctionType,
    LLVMGetEnumAttributeKindForName, LLVMGetInlineAsm, LLVMPointerTypeInContext, LLVMStructTypeInContext,
    LLVMVoidTypeInContext,
};
use inkwell::llvm_sys::prelude::LLVMTypeRef;

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

    /// Instructions of the target in words, which LLVM neither drops nor moves: what they give is as `constraints` say, one
    /// value of each of these types.
    pub(crate) fn assembly(
        &self,
        text: &str,
        constraints: &str,
        gives: &[Type<'c>],
        arguments: &[Value<'c>],
    ) -> Value<'c> {
        let mut gives: Vec<LLVMTypeRef> = gives.iter().map(|ty| ty.0).collect();
        let mut takes: Vec<LLVMTypeRef> = arguments.iter().map(|value| value.ty().0).collect();
        let result = match gives.is_empty() {
            true => llvm!(LLVMVoidTypeInContext(self.context)),
            false => llvm!(LLVMStructTypeInContext(self.context, gives.as_mut_ptr(), gives.len() as u32, 0)),
        };
        let ty = llvm!(LLVMFunctionType(result, takes.as_mut_ptr(), takes.len() as u32, 0));
        let assembly = llvm!(LLVMGetInlineAsm(
            ty,
            text.as_ptr().cast(),
            text.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            1,
            0,
            LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
            0,
        ));
        self.together(self.call_raw(ty, assembly, arguments))
    }

    /// A place in memory that all groups see, as a pointer into that memory alone.
    pub(crate) fn in_global(&self, place: Value<'c>) -> Value<'c> {
        let pointer = llvm!(LLVMPointerTypeInContext(self.context, GLOBAL));
        Value::new(llvm!(LLVMBuildAddrSpaceCast(self.builder, place.0, pointer, c"".as_ptr())))
    }
}
