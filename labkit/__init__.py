"""labkit: the offline lab behind the workbook on LLM tool calling, to be read in the order of the README."""
