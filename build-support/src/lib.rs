//! The build script side.
