"""Recordings played through the product's own doors: as recorded, moved to now, or laid out over a week."""
