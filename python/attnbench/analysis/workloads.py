"""What names of workloads hold, as harness/sweep/workload_name.h lists them."""

CAPTURED = "captured:"


def number_of(workload, kind):
    """R of "bias:R" or S of "copy:S"; None where the workload is of another kind."""
    name, _, number = workload.partition(":")
    try:
        return float(number) if name == kind else None
    except ValueError:
        return None


def is_captured(cell):
    """Whether energies of a user's own model decide (captured:FILE)."""
    return cell["workload"].startswith(CAPTURED)
