"""The page of `attnbench report`: a pure function of result files.

`documents` reads them, `tables`, `validity`, `peers` and `pictures` each make a
part, `assemble` puts the parts together with page.css and page.js.
"""
