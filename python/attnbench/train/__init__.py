"""Training of small models with PyTorch, whose checkpoints the program decodes with.

    philox      random numbers, the same as the program's
    tasks       what models learn: examples, drawn as the program draws them
    folder      a user's own data as a task (folder_tables: all but its features)
    settings    what decides a run, and experiments
    parameters  shapes of a model's parameters, and their elements before training
    checkpoint  the file that a run goes on from, and that the program decodes with
    model       encoder, attention and decoder; attention and lstm have its parts
    trainer     the steps of a run; evaluation says how well its model decodes
    command     `attnbench train`: runs gives the runs of an experiment to processes (worker),
                in messages; progress is what a user sees, context where a result is from
"""
