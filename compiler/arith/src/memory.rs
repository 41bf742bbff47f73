//! What was asked before under the same facts.
//!
//! An answer is a function of the facts, of the question and of the work that is left, and it is remembered with the
//! work that it took: where more is left, asking again would end the same way with the same rest. Where less is left, or
//! where the work ran out, it is asked again. So what is in the memory decides no answer, only how soon it comes.

use super::const_int_bound::ConstIntBound;
use super::expr::IntExpr;
use super::fact::Fact;
use super::limits;
use super::meter::Meter;
use super::points::Point;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Facts in their order, by a number that one memory gives to no others; no facts have the number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context(usize);

/// The answers to one question, each with the work that it took.
pub(super) type Answers<T> = HashMap<(Context, IntExpr), (T, usize)>;

/// What a prover, its clones and its parts were asked, and all others that were made in one [`remembering`].
#[derive(Clone, Debug)]
pub(super) struct Memory(Arc<Mutex<Known>>);

thread_local! {
    static SHARED: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// Does what `work` does; all provers that are made in it, on this thread, remember what any of them was asked. That
/// changes no answer.
///
/// ```
/// use tenfold_arith::{IntExpr, Prover, remembering};
/// let x = IntExpr::var("x");
/// assert!(remembering(|| Prover::new().prove_eq(&x, &x)));
/// ```
pub fn remembering<T>(work: impl FnOnce() -> T) -> T {
    /// Forgets in the end, and when `work` panics.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            SHARED.set(None);
        }
    }
    if SHARED.with_borrow(Option::is_some) {
        return work();
    }
    SHARED.set(Some(Memory::own()));
    let _forget = Forget;
    work()
}

impl Default for Memory {
    fn default() -> Self {
        SHARED.with_borrow(Clone::clone).unwrap_or_else(Self::own)
    }
}

/// A map for each question.
#[derive(Debug, Default)]
pub(super) struct Known {
    contexts: HashMap<(Context, Fact), Context>,
    last: usize,
    /// `points::find`.
    points: HashMap<Context, Arc<[Point]>>,
    /// `Prover::prove_ge0`.
    pub(super) nonnegative: Answers<bool>,
    /// `bounds::nonnegative`.
    pub(super) by_bounds: Answers<bool>,
    /// `linear::nonnegative`.
    pub(super) by_rows: Answers<bool>,
    /// `linear::lower_bound`.
    pub(super) lower_bound: Answers<Option<i64>>,
    /// `simplify::expr`.
    pub(super) simplified: Answers<IntExpr>,
    /// `bounds::symbolic`.
    pub(super) bounds: Answers<(Option<IntExpr>, Option<IntExpr>)>,
    /// `ConstIntBound::of`.
    pub(super) const_bound: Answers<ConstIntBound>,
}

impl Memory {
    /// One that nothing shares.
    fn own() -> Self {
        Self(Arc::default())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // No question is asked while the lock is held: what is in the maps is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The facts of `context` and one more.
    pub(super) fn with(&self, context: Context, fact: &Fact) -> Context {
        let mut known = self.known();
        if known.contexts.len() >= limits::REMEMBERED {
            known.contexts.clear();
        }
        let next = Context(known.last + 1);
        let context = *known.contexts.entry((context, fact.clone())).or_insert(next);
        known.last = known.last.max(context.0);
        context
    }

    /// Points at which the facts of `context` hold, as `find` gives them.
    pub(super) fn points(&self, context: Context, find: impl FnOnce() -> Arc<[Point]>) -> Arc<[Point]> {
        if let Some(points) = self.known().points.get(&context) {
            return Arc::clone(points);
        }
        let points = find();
        let mut known = self.known();
        if known.points.len() >= limits::REMEMBERED {
            known.points.clear();
        }
        known.points.insert(context, Arc::clone(&points));
        points
    }

    /// What was answered before, if the work that it took is left, which is then spent; else what `ask` says.
    pub(super) fn recall<T: Clone>(
        &self,
        answers: impl Fn(&mut Known) -> &mut Answers<T>,
        (context, e): (Context, &IntExpr),
        work: &Meter,
        ask: impl FnOnce() -> T,
    ) -> T {
        let (key, left) = ((context, e.clone()), work.left());
        let before = answers(&mut self.known()).get(&key).filter(|(_, cost)| *cost < left).cloned();
        if let Some((answer, cost)) = before {
            work.spend(cost);
            return answer;
        }
        let answer = ask();
        if let Some(cost) = left.checked_sub(work.left()).filter(|cost| *cost < left) {
            let mut known = self.known();
            let answers = answers(&mut known);
            if answers.len() >= limits::REMEMBERED {
                answers.clear();
            }
            answers.insert(key, (answer.clone(), cost));
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks something that takes `cost` steps of work and counts how often it was looked at.
    fn ask(memory: &Memory, work: &Meter, cost: usize, asked: &mut usize) -> bool {
        let e = IntExpr::var("x");
        memory.recall(
            |it| &mut it.by_rows,
            (Context::default(), &e),
            work,
            || {
                *asked += 1;
                work.spend(cost)
            },
        )
    }

    #[test]
    fn an_answer_takes_the_work_that_it_took() {
        let (memory, work, mut asked) = (Memory::default(), Meter::default(), 0);
        assert!(ask(&memory, &work, 1000, &mut asked));
        assert!(ask(&memory, &work, 1000, &mut asked));
        assert_eq!((asked, work.left()), (1, limits::WORK - 2000));
    }

    #[test]
    fn where_too_little_work_is_left_it_is_asked_again() {
        let (memory, work, mut asked) = (Memory::default(), Meter::default(), 0);
        assert!(ask(&memory, &work, 1000, &mut asked));
        work.spend(work.left() - 999);
        assert!(!ask(&memory, &work, 1000, &mut asked));
        assert_eq!((asked, work.left()), (2, 0));
    }

    #[test]
    fn what_ran_out_of_work_is_not_remembered() {
        let (memory, work, mut asked) = (Memory::default(), Meter::default(), 0);
        assert!(!ask(&memory, &work, limits::WORK + 1, &mut asked));
        work.begin();
        assert!(ask(&memory, &work, 1000, &mut asked));
        assert_eq!(asked, 2);
    }

    #[test]
    fn provers_share_what_they_were_asked_while_it_is_remembered() {
        let same = |a: &Memory, b: &Memory| Arc::ptr_eq(&a.0, &b.0);
        let (inner, after) = (|| remembering(Memory::default), Memory::default());
        assert!(remembering(|| same(&Memory::default(), &inner())));
        assert!(!same(&inner(), &inner()));
        assert!(!same(&after, &Memory::default()));
    }

    #[test]
    fn facts_in_another_order_are_another_context() {
        let memory = Memory::default();
        let (a, b) = (Fact::NonNegative(IntExpr::var("a")), Fact::NonNegative(IntExpr::var("b")));
        let of = |facts: [&Fact; 2]| facts.into_iter().fold(Context::default(), |it, fact| memory.with(it, fact));
        assert_eq!(of([&a, &b]), of([&a, &b]));
        assert_ne!(of([&a, &b]), of([&b, &a]));
        assert_ne!(of([&a, &b]), memory.with(Context::default(), &a));
    }
}
