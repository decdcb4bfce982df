"""The GitHub Action: what the runner says -> one of our own commands -> what the runner is told.

Belongs here: inputs, the environment that GitHub gives, which command a job runs on which event, and
outputs. Does not belong here: the commands themselves (cli; they run as a process of their own, without
the runner's variables), the words of a report (report), and GitHub's API (github).
"""
