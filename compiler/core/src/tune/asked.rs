//! What rules ask before they decide: each decision has a name, and values of which every one gives a right kernel.
//!
//! Nobody answers in a build without records: then each question has its default, and nothing is kept. A record answers
//! with what was measured, and must fit. A search answers by chance, and learns what could have been answered.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{Decisions, Random};

/// A question as it was asked and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What can be answered.
    pub options: Vec<String>,
    /// What is taken where nobody answers.
    pub default: usize,
    /// What was taken.
    pub taken: usize,
}

/// How answers come about.
#[derive(Clone, Debug)]
pub(crate) enum Answers {
    /// Each default.
    None,
    /// By a record: what is not offered is refused.
    Recorded(Decisions),
    /// By decisions where they fit.
    Given(Decisions),
    /// The same; those of these names by chance, and others that nothing is decided on in so many of a hundred cases.
    Sampled { given: Decisions, free: BTreeSet<String>, percent: u64, random: Random },
}

impl Answers {
    /// Has a question that was asked keep its answer.
    pub(crate) fn hold(&mut self, name: &str, value: &str) {
        match self {
            Answers::None | Answers::Recorded(_) => {}
            Answers::Given(given) => given.set(name, value),
            Answers::Sampled { given, free, .. } => {
                given.set(name, value);
                free.remove(name);
            }
        }
    }
}

/// What rules ask while they schedule one kernel.
#[derive(Debug)]
pub(crate) struct Asked {
    answers: Answers,
    state: RefCell<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    offers: Vec<Offer>,
    refused: Option<String>,
    cycles: Option<i128>,
    random: Option<Random>,
}

impl Asked {
    /// Asked with these answers.
    pub(crate) fn new(answers: Answers) -> Asked {
        let random = match &answers {
            Answers::Sampled { random, .. } => Some(random.clone()),
            Answers::None | Answers::Recorded(_) | Answers::Given(_) => None,
        };
        Asked { answers, state: RefCell::new(State { random, ..State::default() }) }
    }

    /// Nobody answers.
    pub(crate) fn nobody() -> Asked {
        Asked::new(Answers::None)
    }

    /// Whether a record answers.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.answers, Answers::Recorded(_))
    }

    /// Whether each question has its default.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.answers, Answers::None)
    }

    /// The answer among options, by its place. What has one answer alone is no question.
    pub(crate) fn pick(&self, name: &str, options: &[String], default: usize) -> usize {
        if self.is_default() {
            return default;
        }
        let taken = self.wanted(name, options).unwrap_or(default);
        self.say(name, options, default, taken);
        taken
    }

    /// What somebody wants among options; nothing where the default is to hold.
    pub(crate) fn wanted(&self, name: &str, options: &[String]) -> Option<usize> {
        let place = |value: &str| options.iter().position(|option| option == value);
        match &self.answers {
            Answers::None => None,
            Answers::Recorded(given) => {
                let value = given.get(name)?;
                if place(value).is_none() {
                    let text = format!("expected `{name}` to be one of {}, found `{value}`", options.join(", "));
                    self.state.borrow_mut().refused.get_or_insert(text);
                }
                place(value)
            }
            Answers::Given(given) => given.get(name).and_then(place),
            Answers::Sampled { given, free, percent, .. } => {
                let mut state = self.state.borrow_mut();
                let random = state.random.as_mut()?;
                match given.get(name) {
                    _ if free.contains(name) => Some(random.below(options.len())),
                    Some(value) => place(value),
                    None => random.happens(*percent).then(|| random.below(options.len())),
                }
            }
        }
    }

    /// Keeps a question and its answer.
    pub(crate) fn say(&self, name: &str, options: &[String], default: usize, taken: usize) {
        if !self.is_default() {
            let offer = Offer { name: name.into(), options: options.to_vec(), default, taken };
            self.state.borrow_mut().offers.push(offer);
        }
    }

    /// A number of those given; the default counts as one of them.
    pub(crate) fn number(&self, name: &str, default: i64, options: impl IntoIterator<Item = i64>) -> i64 {
        if self.is_default() {
            return default;
        }
        let all: BTreeSet<i64> = options.into_iter().chain([default]).collect();
        let all: Vec<i64> = all.into_iter().collect();
        let texts: Vec<String> = all.iter().map(i64::to_string).collect();
        let place = all.iter().position(|n| *n == default).unwrap_or(0);
        all[self.pick(name, &texts, place)]
    }

    /// One of two words, the first of which stands for no.
    pub(crate) fn either(&self, name: &str, default: bool, words: [&str; 2]) -> bool {
        self.pick(name, &words.map(String::from), usize::from(default)) == 1
    }

    /// Says what the rule's model counts.
    pub(crate) fn counted(&self, cycles: i128) {
        self.state.borrow_mut().cycles = Some(cycles);
    }

    /// Forgets what a rule has asked that gave up.
    pub(crate) fn forget(&self) {
        let mut state = self.state.borrow_mut();
        state.offers.clear();
        state.cycles = None;
    }

    /// Why a record does not fit, if it does not: an answer that was not offered, or one to what nobody asks.
    pub(crate) fn refused(&self) -> Option<String> {
        let state = self.state.borrow();
        let asked = |name: &str| state.offers.iter().any(|offer| offer.name == name);
        let unasked = || match &self.answers {
            Answers::Recorded(given) => given.iter().find(|(name, _)| !asked(name)).map(|(name, _)| name.to_string()),
            Answers::None | Answers::Given(_) | Answers::Sampled { .. } => None,
        };
        let text = |name: String| format!("`{name}` is nothing that is decided for this kernel");
        state.refused.clone().or_else(|| unasked().map(text))
    }

    /// The same while not everything is asked yet.
    pub(crate) fn refused_so_far(&self) -> Option<String> {
        self.state.borrow().refused.clone()
    }

    /// What was asked, in order, and what the model counts.
    pub(crate) fn heard(self) -> (Vec<Offer>, Option<i128>) {
        let state = self.state.into_inner();
        (state.offers, state.cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(text: &str) -> Decisions {
        Decisions::parse(text).expect("decisions")
    }

    #[test]
    fn without_an_answer_the_default_holds() {
        let asked = Asked::nobody();
        assert_eq!((asked.number("rows", 6, 1..=8), asked.either("order", true, ["rows", "columns"])), (6, true));
        assert!(asked.heard().0.is_empty());
    }

    #[test]
    fn a_record_must_fit() {
        let of = |text| Asked::new(Answers::Recorded(decisions(text)));
        let asked = of("rows=3");
        assert_eq!((asked.number("rows", 6, 1..=8), asked.refused()), (3, None));
        let asked = of("rows=9");
        assert_eq!(asked.number("rows", 2, 1..=3), 2);
        assert_eq!(asked.refused().as_deref(), Some("expected `rows` to be one of 1, 2, 3, found `9`"));
        let asked = of("rows=3 lines=2");
        asked.number("rows", 6, 1..=8);
        assert_eq!(asked.refused().as_deref(), Some("`lines` is nothing that is decided for this kernel"));
    }

    #[test]
    fn what_is_given_holds_where_it_fits() {
        let asked = Asked::new(Answers::Given(decisions("rows=3 vectors=9")));
        assert_eq!((asked.number("rows", 6, 1..=8), asked.number("vectors", 2, 1..=4)), (3, 2));
        let (offers, _) = asked.heard();
        assert_eq!((offers[1].default, offers[1].taken, offers[1].options.len()), (1, 1, 4));
    }

    #[test]
    fn chance_is_the_same_in_every_run() {
        let run = |seed| {
            let (given, free) = (decisions("vectors=2"), ["rows".to_string()].into());
            let asked = Asked::new(Answers::Sampled { given, free, percent: 0, random: Random::new(seed) });
            let rows: Vec<i64> = (0..8).map(|_| asked.number("rows", 1, 1..=100)).collect();
            assert_eq!((asked.number("vectors", 1, 1..=4), asked.number("block", 7, 1..=9)), (2, 7));
            rows
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
