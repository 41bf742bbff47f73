//! The rules of the relax verifier as data.

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its name: also that of the file in `tests/filetests/relax/verify` that breaks it.
    pub name: &'static str,
    /// What holds.
    pub doc: &'static str,
}

macro_rules! rules {
    ($($id:ident $name:literal $doc:literal)*) => {
        $(pub(super) const $id: &Rule = &Rule { name: $name, doc: $doc };)*
        /// All rules, in the order in which this page explains them.
        pub static RULES: &[&Rule] = &[$($id),*];
    };
}

rules! {
    ORDER "operand_order" "An operand's number is smaller than its reader's, a region's numbers than its binding's."
    DEFINED "operand_defined" "An operand is defined before it is read, and outside of regions that have ended."
    ONCE "bound_once" "A value is bound once."
    ENTRY "value_entry" "Every value that is bound has a type."
    RESULT "result_defined" "What the function returns is defined."
    PARAM "parameter" "A parameter is a tensor; a scalar parameter has rank 0."
    KIND "block_kind" "A dataflow block holds pure bindings, an effect block effects."
    SYM_ONCE "symbol_once" "A symbol is declared once."
    SYM_BOUND "symbol_bound" "A symbol is bound by a value that is there and whose op binds it."
    FACT "fact_symbols" "A fact uses symbols that are known at the call: dims and index parameters."
    EXPR "expression_symbols" "Extents and index expressions use symbols that are bound before and known here."
    TYPE "type" "A type is what the op's rule gives."
    OPERANDS "operands" "Operands are as the op's rule wants them."
    CONSTANT "constant" "A constant is one of the module and has its type."
    PRIM "prim_callee" "A called prim-func is in the module and takes what is passed."
    IN_PLACE "in_place" "A result that updates an operand in place has its type."
    CALLEE "relax_callee" "A called relax function is in the module and takes and gives what the call says."
    RECURSION "recursion" "No function calls itself."
    EXTERNAL "external_call" "A call out names a path; what it updates are operands, each once."
    STATE "state" "What is stored into state has its type, and its parameter is state."
    STORE_OUTSIDE "store_in_region" "State is stored outside of regions."
    REGIONS "regions" "An op has as many regions as it takes, and no other op has any."
    CARRIED "carried" "A loop's region takes and gives values of the types that the loop carries."
    BRANCHES "branches" "Both branches of an `if` give values of the types of its result, and take none."
    CONDITION "loop_condition" "The condition of a `while` gives one scalar bool."
    LOOP_VAR "loop_variable" "A loop's variable is declared as bound by it, and its step is not 0."
    NESTED_TUPLE "nested_tuple" "From phase normalised on, no tuple stands in a tuple."
    PHASE_OP "phase_op" "The op has a place in the function's phase."
    PLAN "plan" "A planned function, and no other, has a plan with a place for every value."
}
