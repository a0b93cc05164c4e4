"""The judge of every ledger: of the papers' claims (experiments/claims.json) and of
the targets for speed (experiments/peers/targets.json).

    ledger        what was claimed, from which measurement, by which rule
    quantities    from a measurement's document to readings (ratios, grown, rows)
    verdicts      from readings to verdicts
    claims        all claims with their verdicts as a result document
"""
