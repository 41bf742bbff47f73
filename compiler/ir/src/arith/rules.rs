//! Rules of simplification, as data.
