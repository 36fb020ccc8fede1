"""What apframe computes and says today, kept until there is one source and one way of reading (`scale/` and the readers).

It can be thinned out then. `protocols/` has the tables of every protocol and variant on the sets of `sets`, see `numbers`;
`surface` and `messages` have what is text. `python -m tests.pins` rewrites the files that differ; whoever does so says in the
CHANGELOG what changed, and why.
"""
