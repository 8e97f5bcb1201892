"""What works beside a parent's own session: notices of its runs, and its commands."""
