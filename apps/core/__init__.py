"""The values every room speaks: windows of time, money, histograms, unknowns, errors. Plain Python, no Django."""
