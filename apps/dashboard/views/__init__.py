"""Pages: a request becomes a page state, a page state an answer in HTML."""
