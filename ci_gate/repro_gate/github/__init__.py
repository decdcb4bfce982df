"""Where GitHub shows a result: workflow commands, job summaries, annotations, comments, check runs, issues.

Belongs here: GitHub's forms and limits, and the only user of its API's client. Does not belong here: what
a report says (report), inputs and events of a job (action), and any verdict: reporting changes none.
"""
