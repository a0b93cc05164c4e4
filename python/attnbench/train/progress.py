"""What a user sees while models train."""


def duration_text(seconds):
    raise NotImplementedError
