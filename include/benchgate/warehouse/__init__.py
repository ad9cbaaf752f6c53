"""The warehouse: what was planned, what was measured, what was refused and why. SQLite or PostgreSQL, one model.

``connect`` opens it, ``migrate`` creates and upgrades it, ``load`` writes one campaign run in one transaction,
``views/*.sql`` answer questions. Nothing here decides what may be published: the gates did that before.
"""
