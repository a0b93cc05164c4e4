"""Training of small models with PyTorch, whose checkpoints the program decodes with.

    philox      random numbers, the same as the program's
    tasks       what models learn: examples, drawn as the program draws them
    folder      a user's own data as a task (folder_tables: all but its features)
    settings    what decides a run, experiments, and the parameters before training
    checkpoint  the file that a run goes on from, and that the program decodes with
    model       encoder, attention and decoder; attention and lstm have its parts
    trainer     the steps of a run; evaluation says how well its model decodes
"""
