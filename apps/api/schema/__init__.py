"""What each endpoint takes and answers, as OpenAPI."""
