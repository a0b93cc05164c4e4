"""`pip install .` installs python/attnbench. What it reads of the sources goes into its folder
`shared`; CMake installs the same in share/attnbench.
"""

import tempfile

from setuptools import find_packages, setup

# A folder of `shared` -> what is taken of it.
DATA = {
    "results": ["effects.json"],
    "results.schema": ["*.json"],
    "results.published": ["*"],
}


def shared(name):
    return f"attnbench.shared.{name}"


# All that setuptools writes beside the wheel lies here, and the sources stay as they are.
with tempfile.TemporaryDirectory() as scratch:
    setup(
        packages=[
            *find_packages("python"),
            shared("plots.figures"),
            *map(shared, DATA),
        ],
        package_dir={
            "": "python",
            shared("plots"): "plots",
            **{shared(name): name.replace(".", "/") for name in DATA},
        },
        package_data={shared(name): files for name, files in DATA.items()},
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
