"""The rules both languages have to keep (`rules.tsv`), and the machinery that ties tests to them."""
