"""What senders and engines say, in their own formats, read into records and samples. Pure; no source knows another."""
