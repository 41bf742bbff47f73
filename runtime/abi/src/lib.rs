//! The ABI.
#![no_std]
