"""What runs inside a container when a server of ours has died there: diagnose.pyz.

It classifies the journal of that start, keeps a report, and says why in the unit's own journal.
Nothing here may fail or delay a restart. What only the node can know is joined elsewhere.
"""
