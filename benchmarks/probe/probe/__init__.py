"""A small back office: baskets, rates, dates, workers and reports."""
