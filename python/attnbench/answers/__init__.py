"""What results say, as commands tell it:

    setups        in what two results were measured differently
    match         the cells of two results that are the same measurement
    change        whether a ratio of times changed, and if nobody can tell, why
    comparison    the document of `attnbench compare`, and its exit code
    compare_text  the same for people, for a pull request and for CI
    compare       the command

    advice        the document of `attnbench advise`, of a sweep of whole decoders
    advice_text   the same for people, which `attnbench show` prints, too
    advise        the command, and the sweep that it asks for
"""
