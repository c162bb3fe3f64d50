"""What each page shows: selectors' answers arranged as figures, tables and charts."""
