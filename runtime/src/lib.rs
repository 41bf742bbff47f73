//! The runtime.
#![no_std]
