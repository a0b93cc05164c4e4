"""Numbers and columns of the tables that commands print, as the program has
them (harness/answers/columns.h).
"""

NO_VALUE = "-"
LONGEST = 9_999_999.5  # that is written whole


def digits(value):
    """Three digits, or all of a whole number: "0.123", "12.3", "1234"."""
    is_whole = 99.95 <= value < LONGEST
    return f"{value:.0f}" if is_whole else f"{value:.3g}"


def span_text(value, interval, unit=1, behind=""):
    """"12.3 us [11.9, 12.8]": `behind` is the name of the unit, " us"."""
    ends = interval and ", ".join(digits(end / unit) for end in interval)
    return digits(value / unit) + behind + (f" [{ends}]" if ends else "")


def time_text(ns, interval):
    units = ((1, "ns"), (1e3, "us"), (1e6, "ms"))
    unit, name = next(
        (one for one in units if ns / one[0] < 999.5), (1e9, "s"))
    return span_text(ns, interval, unit, f" {name}")


def ratio_text(ratio, interval):
    """"4.1x [3.9, 4.3]\""""
    return span_text(ratio, interval, 1, "x")


def percent_text(share):
    return NO_VALUE if share is None else f"{100 * share:.0f} %"


def aligned(rows):
    """Makes lines of rows of texts. A column is as wide as its widest text;
    what stands last in its line may be longer.
    """
    widths = {}
    for row in rows:
        for place, one in enumerate(row[:-1]):
            widths[place] = max(widths.get(place, 0), len(one))
    return ["".join(f"  {one:<{widths.get(place, 0)}}"
                    for place, one in enumerate(row)).rstrip() for row in rows]
