"""Speed and memory, measured through the public API beside a named rival in the same run."""
