"""Campaigns, statistics, cause by intervention.

Belongs here: which conditions to try on which tests, what the outcomes mean, and what a verdict
rests on. Does not belong here: printing (cli, report), and processes of its own (experiment).
"""
