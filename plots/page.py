"""A page, such as README.md, with a part that a program writes."""

import load
import whole_file


def put_into(path, begin, text, end):
    """Puts the text between the lines `begin` and `end` of the file, which must
    have both once; what stood there is gone.
    """
    try:
        with open(path, encoding="utf-8") as file:
            page = file.read()
    except OSError as error:
        raise load.DataError(path, f"cannot be read: {error.strerror}") from error
    if not (page.count(begin) == page.count(end) == 1):
        raise load.DataError(
            path, f"must have the lines {begin.strip()} and {end.strip()} once"
        )
    before, after = page.split(begin)[0], page.split(end)[1]
    whole_file.write(path, (before + begin + text + end + after).encode())
