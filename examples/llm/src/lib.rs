//! A small language model: text in, text out, a character at a time.
//!
//! The weights are read when the program runs (`step::Params`), so another file of the same shapes is another model.
//! Nothing is allocated while it writes.

mod kernels;

pub use kernels::{sample, step};

use tenfold::Error;

/// The tokens in the order of their numbers.
pub const ALPHABET: &[u8; VOCABULARY] = b"\n !\"',-.:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// How many tokens there are.
pub const VOCABULARY: usize = 63;
/// Characters that the model remembers.
pub const CONTEXT: usize = 128;

/// The token of a character; that of a space for any that the model does not know.
pub fn token(character: u8) -> usize {
    ALPHABET.iter().position(|known| *known == character).unwrap_or(1)
}

/// Keys or values of every position.
type Cache = [[[[f32; 16]; CONTEXT]; 2]; 2];

/// A text in the making: the model, what it remembers, and what may come next.
pub struct Writer<'a> {
    params: step::Params<'a>,
    keys: Box<Cache>,
    values: Box<Cache>,
    /// What it has read since it last forgot.
    tokens: [usize; CONTEXT],
    position: usize,
    /// The score of each token that may come next.
    pub scores: [f32; VOCABULARY],
    workspace: Box<step::Workspace>,
}

impl<'a> Writer<'a> {
    /// Nothing is written yet.
    pub fn new(params: step::Params<'a>) -> Self {
        let empty = || Box::new([[[[0.0; 16]; CONTEXT]; 2]; 2]);
        Self {
            params,
            keys: empty(),
            values: empty(),
            tokens: [0; CONTEXT],
            position: 0,
            scores: [0.0; VOCABULARY],
            workspace: Box::new(step::Workspace::new()),
        }
    }

    /// Reads a token. When the cache is full, all but the later half of what it holds is forgotten.
    pub fn read(&mut self, token: usize) -> Result<(), Error> {
        if self.position == CONTEXT {
            let tokens = self.tokens;
            self.position = 0;
            tokens[CONTEXT / 2..].iter().try_for_each(|token| self.read(*token))?;
        }
        let Self { params, keys, values, position, scores, workspace, .. } = self;
        params.call_into(token, *position, &mut **keys, &mut **values, scores, workspace)?;
        self.tokens[self.position] = token;
        self.position += 1;
        Ok(())
    }

    /// Draws a token and reads it.
    pub fn write(&mut self, temperature: f32, seed: u64) -> Result<usize, Error> {
        let mut token = 0;
        sample::into(&self.scores, temperature, seed, &mut token, &mut sample::Workspace::new());
        let token = usize::try_from(token).unwrap_or(0);
        self.read(token)?;
        Ok(token)
    }
}
