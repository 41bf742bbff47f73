//! What is said of functions and their parameters.

use inkwell::llvm_sys;
use inkwell::llvm_sys::core::{
    LLVMAddAttributeAtIndex, LLVMCreateEnumAttribute, LLVMCreateStringAttribute, LLVMCreateTypeAttribute,
    LLVMGetEnumAttributeKindForName,
};

use super::{Ir, Type, Value};

impl<'c> Ir<'c, '_> {
    /// A property that LLVM knows, of a function (`None`) or of a parameter.
    pub(crate) fn attribute(&self, function: Value<'c>, parameter: Option<u32>, name: &str, value: u64) {
        let kind = llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
        let attribute = llvm!(LLVMCreateEnumAttribute(self.context, kind, value));
        let place = parameter.map_or(llvm_sys::LLVMAttributeFunctionIndex, |n| n + 1);
        llvm!(LLVMAddAttributeAtIndex(function.0, place, attribute));
    }

    /// Passes a parameter of a kernel by value, which stays where the launch has put it.
    pub(crate) fn by_value(&self, function: Value<'c>, parameter: u32, ty: Type<'c>, align: u64) {
        let name = "byval";
        let kind = llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
        let stays = "nvvm.grid_constant";
        let attributes = [
            llvm!(LLVMCreateTypeAttribute(self.context, kind, ty.0)),
            llvm!(LLVMCreateStringAttribute(
                self.context,
                stays.as_ptr().cast(),
                stays.len() as u32,
                stays.as_ptr().cast(),
                0
            )),
        ];
        for attribute in attributes {
            llvm!(LLVMAddAttributeAtIndex(function.0, parameter + 1, attribute));
        }
        self.attribute(function, Some(parameter), "align", align);
    }

    /// A property of a function in words.
    pub(crate) fn word(&self, function: Value<'c>, key: &str, value: &str) {
        let attribute = llvm!(LLVMCreateStringAttribute(
            self.context,
            key.as_ptr().cast(),
            key.len() as u32,
            value.as_ptr().cast(),
            value.len() as u32,
        ));
        llvm!(LLVMAddAttributeAtIndex(function.0, llvm_sys::LLVMAttributeFunctionIndex, attribute,));
    }
}
