"""What tests of scripts use."""
