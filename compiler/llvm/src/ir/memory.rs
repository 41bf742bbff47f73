//! Memory: addresses, reads and writes.

use inkwell::llvm_sys::core::{
    LLVMAddGlobalInAddressSpace, LLVMBuildAlloca, LLVMBuildGEP2, LLVMBuildInBoundsGEP2, LLVMBuildLoad2,
    LLVMBuildPtrToInt, LLVMBuildStore, LLVMGetNamedGlobal, LLVMGetUndef, LLVMMDNodeInContext2, LLVMSetAlignment,
    LLVMSetInitializer, LLVMSetVolatile, LLVMValueAsMetadata,
};

use super::{Ir, Seen, Type, Value, c_string};

/// The address space of memory that the threads of a group share.
const SHARED: u32 = 3;

impl<'c> Ir<'c, '_> {
    /// Memory for the time of the call. The caller stands in the entry block.
    pub(crate) fn alloca(&self, ty: Type<'c>, align: u32) -> Value<'c> {
        let value = Value::new(llvm!(LLVMBuildAlloca(self.builder, ty.0, c"".as_ptr())));
        llvm!(LLVMSetAlignment(value.0, align));
        value
    }

    /// Memory that the threads of a group share, as a pointer into that memory alone: of one like any other LLVM knows no
    /// alignment. What is seen outside has a size that the launch says, and is there once.
    pub(crate) fn shared(&self, name: &str, ty: Type<'c>, align: u32, seen: Seen) -> Value<'c> {
        let (module, text) = (self.module.as_mut_ptr(), c_string(name));
        let known = llvm!(LLVMGetNamedGlobal(module, text.as_ptr()));
        let global = if known.is_null() || seen == Seen::Inside {
            let global = llvm!(LLVMAddGlobalInAddressSpace(module, ty.0, text.as_ptr(), SHARED));
            llvm!(LLVMSetAlignment(global, align));
            self.see(global, seen);
            if seen == Seen::Inside {
                llvm!(LLVMSetInitializer(global, LLVMGetUndef(ty.0)));
            }
            global
        } else {
            known
        };
        Value::new(global)
    }

    /// `base` moved by `index` elements of `of`, inside one object.
    pub(crate) fn element(&self, of: Type<'c>, base: Value<'c>, index: Value<'c>) -> Value<'c> {
        let mut at = [index.0];
        Value::new(llvm!(LLVMBuildInBoundsGEP2(self.builder, of.0, base.0, at.as_mut_ptr(), 1, c"".as_ptr(),)))
    }

    /// Asks for the cache line at `base` moved by `index` elements of `of`, wherever that is.
    pub(crate) fn prefetch(&self, of: Type<'c>, base: Value<'c>, index: Value<'c>) {
        let mut at = [index.0];
        let place = llvm!(LLVMBuildGEP2(self.builder, of.0, base.0, at.as_mut_ptr(), 1, c"".as_ptr()));
        self.prefetch_line(Value::new(place));
    }

    /// Asks for the cache line at the last multiple of `unit`, a power of two, that is not behind `ahead` bytes behind a
    /// pointer.
    pub(crate) fn prefetch_multiple(&self, pointer: Value<'c>, word: Type<'c>, ahead: i64, unit: i64) {
        let mut at = [self.const_int(word, ahead).0];
        let place = llvm!(LLVMBuildGEP2(self.builder, self.int(8).0, pointer.0, at.as_mut_ptr(), 1, c"".as_ptr()));
        let bits = self.const_int(word, -unit);
        let place = self.intrinsic("llvm.ptrmask", &[self.pointer(), word], &[Value::new(place), bits]);
        self.prefetch_line(place);
    }

    fn prefetch_line(&self, place: Value<'c>) {
        // To be read, to be kept in all caches, data.
        let [read, keep, data] = [0, 3, 1].map(|n| self.const_int(self.int(32), n));
        self.intrinsic("llvm.prefetch", &[self.pointer()], &[place, read, keep, data]);
    }

    /// Where a pointer points, as a number.
    pub(crate) fn address(&self, pointer: Value<'c>, word: Type<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildPtrToInt(self.builder, pointer.0, word.0, c"".as_ptr())))
    }

    /// A read.
    pub(crate) fn load(&self, ty: Type<'c>, at: Value<'c>, align: u32) -> Value<'c> {
        let value = Value::new(llvm!(LLVMBuildLoad2(self.builder, ty.0, at.0, c"".as_ptr())));
        llvm!(LLVMSetAlignment(value.0, align));
        value
    }

    /// A read of a vector in pieces of so many lanes, each an instruction of its own; there are as many as a power of two.
    pub(crate) fn load_in_pieces(&self, ty: Type<'c>, at: Value<'c>, align: u32, lanes: u32) -> Value<'c> {
        let piece = |n: u32| {
            let from = self.const_int(self.int(64), i64::from(n * lanes));
            let loaded = self.load(ty.lane().times(lanes), self.element(ty.lane(), at, from), align);
            // What is volatile stays as it is; neighbours would become one.
            llvm!(LLVMSetVolatile(loaded.0, 1));
            loaded
        };
        let mut all: Vec<Value<'c>> = (0..ty.lanes() / lanes).map(piece).collect();
        let mut width = lanes;
        while all.len() > 1 {
            width *= 2;
            all = all.chunks(2).map(|pair| self.shuffle(pair[0], pair[1], 0..width)).collect();
        }
        all[0]
    }

    /// A write.
    pub(crate) fn store(&self, value: Value<'c>, at: Value<'c>, align: u32) -> Value<'c> {
        let store = Value::new(llvm!(LLVMBuildStore(self.builder, value.0, at.0)));
        llvm!(LLVMSetAlignment(store.0, align));
        store
    }

    /// A write past the caches; other threads see it after a [`Ir::store_fence`].
    pub(crate) fn stream(&self, value: Value<'c>, at: Value<'c>, align: u32) {
        let store = self.store(value, at, align);
        let mut one = [llvm!(LLVMValueAsMetadata(self.const_int(self.int(32), 1).0))];
        let node = llvm!(LLVMMDNodeInContext2(self.context, one.as_mut_ptr(), one.len()));
        self.describe(store, "nontemporal", node);
    }

    /// Says of what a call gave that it is below a number and not below 0.
    pub(crate) fn below(&self, value: Value<'c>, end: i64) {
        let number = |n| llvm!(LLVMValueAsMetadata(self.const_int(value.ty(), n).0));
        let mut ends = [number(0), number(end)];
        let node = llvm!(LLVMMDNodeInContext2(self.context, ends.as_mut_ptr(), ends.len()));
        self.describe(value, "range", node);
    }

    /// Writes past the caches are seen before what follows is.
    pub(crate) fn store_fence(&self) {
        self.intrinsic("llvm.x86.sse.sfence", &[], &[]);
    }
}
