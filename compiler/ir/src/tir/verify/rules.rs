//! The rules of the verifier of tir as data.

use crate::relax::Rule;

macro_rules! rules {
    ($($id:ident $name:literal $doc:literal)*) => {
        $(pub(super) const $id: &Rule = &Rule { name: $name, doc: $doc };)*
        /// All rules, in the order in which this page explains them. Of each, `tests/filetests/tir/verify` has a file
        /// that breaks it, but of those in [`UNWRITABLE`].
        pub static RULES: &[&Rule] = &[$($id),*];
    };
}

rules! {
    EXISTS "exists" "What is named by number is there."
    ORDER "operand_order" "An operand's number is smaller than its reader's."
    NAMES "unique_names" "No two variables or buffers have one name."
    ONCE "bound_once" "A variable is bound once."
    BOUND "bound_before_use" "A variable is used where it is bound."
    LOOP_VAR "loop_variable" "A variable of a loop or a block is an index; from phase flat on loops may count in `i32`."
    SYMBOLS "symbols" "Facts, extents, distances and ranges are made of variables of the function."
    PARAM "parameter" "A parameter buffer is one parameter and has no scope of its own."
    WORKSPACE "workspace" "There is one workspace at most; what lies in it has an offset."
    CONSTANT "constant" "A constant buffer has the type of its constant."
    OUTPUT "output_written" "Every output that has an element is written somewhere."
    READ_ONLY "read_only" "Inputs and constants are not written."
    LIVE "buffer_lives" "A buffer is used where it lives."
    ALLOC "allocation" "What is allocated has a scope that is allocated, and no life yet."
    VIEW "view" "A view has the type of what it views, no more axes, and no distances of its own."
    TYPES "types" "The operands of an expression agree as its operator says."
    CONDITION "condition" "A condition is one `bool`."
    INDEX "index_type" "Extents are indices; indices of accesses are integers."
    COUNT "index_count" "An access has one index per axis."
    STORED "store_type" "What is stored has the type of an element, and a lane for each lane of its index."
    LET "let_type" "A variable has the type of its value."
    BLOCK_NAMES "block_names" "No two blocks have one name."
    ANNOTATION "annotation" "A pipeline gives a stage and a place, each place once, to every statement of its loop."
    AXIS "thread_axis" "A loop over a thread axis stands in no other one over it; thread blocks stand around threads."
    BARRIER_SCOPE "barrier_scope" "A barrier is for memory that threads share."
    BARRIER_PLACE "barrier_place" "A barrier stands inside of thread blocks."
    GROUP "group" "What the threads of a block reduce is all that is stored, where threads are a constant number along x alone."
    WARP "warp" "What a warp does together is all that is stored, where threads are whole warps along x alone."
    COPY_ASYNC "copy_async" "A copy that goes on by itself is all that is stored, of neighbours in global memory to such in shared memory, by a thread of a block."
    COPY_TENSOR "copy_tensor" "A copy of a box is all that is stored, of a tensor in global memory to neighbours in shared memory, by a thread of a block."
    MBARRIER "mbarrier" "What is done with an `mbarrier` is all that is stored, to an element of shared memory, by a thread of a block."
    UNTIL_ALIGNED "until_aligned" "What is asked how far it is from a multiple of bytes is an element, and the multiple a power of two from its size on."
    ASSERT "assert_exported" "A check stands in a function that is exported, which has a status."
    CALLEE "callee" "What is called is a prim-func of the module."
    ARGUMENTS "arguments" "Arguments agree with the parameters of the callee."
    LAUNCH "launch" "Device functions, and no others, are called with a launch."
    SPLIT "split" "A function whose parts run on threads ends with two indices, is of the host and has no threads itself."
    DEVICE "device_function" "A device function is not exported, has no workspace, and calls nothing."
    EXTERN "extern_function" "A function outside the module is a declaration: a symbol and pointers, not exported, of phase target."
    FLAT_BLOCKS "flat_blocks" "From phase flat on there are no blocks."
    FLAT_RANK "flat_rank" "From phase flat on every buffer has one axis."
    EXPANDED "target_expanded" "In phase target math is expanded."
}

/// Rules that no text breaks, since reading one gives numbers that are right.
pub const UNWRITABLE: [&str; 5] = ["exists", "operand_order", "bound_once", "loop_variable", "parameter"];
