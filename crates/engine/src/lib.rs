// SPDX-License-Identifier: MIT OR Apache-2.0
//! The write, recall, act and fire gates, in order.
