//! Web archives: what is read of them, in every packing, and what becomes of damage.

mod archive;
mod damage;
mod hostile;
mod pages;
mod program;
mod real;
mod sample;
