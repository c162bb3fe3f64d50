"""Ledger lines turned into FOCUS 1.2 rows, provider view: the platform bills, each team is a sub-account."""
