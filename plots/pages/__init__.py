"""The page of `attnbench report`: a pure function of result files.

`documents` reads them; `ledger`, `pictures`, `peers`, `crossovers`, `validity` and `tables`
each make a part; `assemble` puts the parts together with page.css and page.js.
"""
